// BareLoop: the leanest read or write loop over given files that we can write. What the engine is measured
// against: no checksums, no index, no queues of jobs; one ring, registered files and buffers in huge pages,
// O_DIRECT, the next transfer into the slot that came free.
//
// Where io_uring is refused it is `depth` threads of pread and pwrite, and description() says so. It works on
// ranges of whole pages; a short transfer is an error.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fulcrum/result.h"
#include "fulcrum/units.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum {

/// Bytes of one of the files. Multiples of 4096.
struct BareRange {
  std::size_t file = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

struct BareSetting {
  Bytes io_size{1 << 20};
  int depth = 16;  ///< transfers in flight, 1..256
  bool operator==(const BareSetting&) const = default;
};

class BareRing;

class BareLoop {
 public:
  /// `most` bounds the settings of later runs, in bytes in flight. Kinds: not_found, permission, file_limit,
  /// no_memory, device.
  static Result<std::unique_ptr<BareLoop>> open(const std::vector<std::string>& paths, Bytes most);
  ~BareLoop();
  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;

  /// Moves all ranges, front to back. What is written is whatever the buffers hold. Kinds: device.
  Result<void> read(const std::vector<BareRange>& ranges, const BareSetting& setting);
  Result<void> write(const std::vector<BareRange>& ranges, const BareSetting& setting);
  /// "io_uring, O_DIRECT, registered buffers", or what it is instead.
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  BareLoop() = default;
  Result<void> run(const std::vector<BareRange>& ranges, const BareSetting& setting, bool writes);

  std::vector<int> files_;
  AlignedBuffer pages_;
  std::span<std::byte> memory_;     ///< of pages_, from a huge page's boundary on
  std::unique_ptr<BareRing> ring_;  ///< null: threads
  std::string description_;
};

}  // namespace fulcrum
