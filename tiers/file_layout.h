// FileLayout: where things lie on the device of a file tier. Fixed for the life of a store.
//
//   [superblock 0 | superblock 1 | probe page | spare page | journal 0 | journal 1] [segment 0] [segment 1]
//   ...
//
// All sizes are multiples of 4096 bytes. A journal half holds a checkpoint of the fullest possible store.
#pragma once

#include <cstdint>

#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

struct FileLayout {
  Bytes row_bytes{};      ///< of a block
  Bytes meta_bytes{};     ///< superblocks and journals: the head of the device
  Bytes segment_bytes{};  ///< of each segment
  std::uint32_t segments = 0;

  bool operator==(const FileLayout&) const = default;

  /// The layout that makes the most of `capacity` bytes of the medium: total() never exceeds them. Segments
  /// of 1 GiB (4 GiB on turning disks) where there are at least 16 of them, smaller ones otherwise, each of
  /// at least 2 rows; one in eight, at least 2, are spare for reclaiming. Kinds: bad_input (capacity too
  /// small for the rows, with the least that works).
  static Result<FileLayout> for_capacity(Bytes capacity, Bytes row_bytes, Medium medium);
  /// The layout of this store for another capacity: as many of its segments as fit, and never a smaller head.
  /// Kinds: bad_input (too few segments would be left, with the least that works; or too many).
  [[nodiscard]] Result<FileLayout> resized(Bytes capacity) const;
  /// Kinds: bad_input, naming what is wrong with a layout that was put together by hand.
  [[nodiscard]] Result<void> check() const;

  /// Bytes of the device.
  [[nodiscard]] Bytes total() const {
    return meta_bytes + segment_bytes * static_cast<std::int64_t>(segments);
  }
  /// Bytes of rows that can be promised: without the spare segments and without headers.
  [[nodiscard]] Bytes capacity() const;
  [[nodiscard]] std::uint32_t spare_segments() const;
  /// Of a row on the device: row_bytes rounded up to 4096.
  [[nodiscard]] std::int64_t stride() const;
  [[nodiscard]] std::int64_t segment_offset(std::uint32_t segment) const {
    return meta_bytes.value() + segment_bytes.value() * static_cast<std::int64_t>(segment);
  }
  /// Place and size of the journal's halves.
  [[nodiscard]] std::int64_t journal_offset(int half) const;
  [[nodiscard]] std::int64_t journal_bytes() const;
};

}  // namespace fulcrum
