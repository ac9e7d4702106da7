// StoreReader: reads what a device holds of a store, at the start: superblocks, then a journal half. Blocks.
//
// Its buffers must outlive the device where a request was left in flight: destroy the device first after an
// error of kind timed_out. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tiers/aligned_buffer.h"
#include "tiers/device.h"
#include "tiers/format.h"

namespace fulcrum {

/// Carries out one request and waits for it, at most so long. Nothing else may be in flight.
/// Kinds: those of the device; timed_out: it is still in flight.
[[nodiscard]] Result<void> run_request(Device& device, IoRequest request, Clock& clock, Seconds limit);

/// The error for a store whose bytes nobody can say the meaning of. `detail` says what is wrong with its
/// superblocks.
[[nodiscard]] Error without_superblock(const std::string& where, const std::string& detail);

/// A superblock that was found, and in which of the two places.
struct FoundSuperblock {
  Superblock superblock;
  int slot = 0;
};

/// What a journal half held, and where it broke off.
struct FoundJournal {
  std::vector<Record> records;  ///< in order; none where they were visited
  std::uint64_t count = 0;      ///< of records
  std::uint64_t batches = 0;
  std::uint64_t dropped = 0;  ///< records that were damaged or came after damage, as far as can be told
  std::uint64_t time_ms = 0;  ///< the store's time at the last batch
};

class StoreReader {
 public:
  StoreReader(Device& device, Clock& clock, Seconds limit) : device_(device), clock_(clock), limit_(limit) {}

  /// The superblocks that are valid, newest first; none where the device holds no store yet. Kinds: corrupt
  /// (something is there, and none is valid), mismatch (of another format), device, timed_out, no_memory.
  [[nodiscard]] Result<std::vector<FoundSuperblock>> superblocks();
  /// The first segment that begins with an extent. Where there is no superblock, none should: extents are
  /// written only once a superblock is durable.
  [[nodiscard]] Result<std::optional<std::uint32_t>> used_segment(const FileLayout& layout);
  /// The journal that `superblock` points to, up to its end or to damage.
  [[nodiscard]] Result<FoundJournal> journal(const Superblock& superblock);
  /// The same, one record after the other and none of them kept.
  [[nodiscard]] Result<FoundJournal> journal(const Superblock& superblock,
                                             const std::function<void(Record&)>& visit);

 private:
  /// Makes the first `bytes` of the half be in memory, or all of it.
  Result<void> fetch(std::int64_t offset, std::size_t bytes);
  [[nodiscard]] std::uint64_t count_behind(std::size_t at, std::uint64_t generation) const;

  Device& device_;
  Clock& clock_;
  Seconds limit_;
  AlignedBuffer pages_;
  AlignedBuffer half_;
  std::size_t fetched_ = 0;
};

}  // namespace fulcrum
