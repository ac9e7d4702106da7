// Verification of a whole store: every extent header and every row is read and held against the journal.
//
// Memory is bounded: some rows at a time. Rows that no journal knows of are looked for behind the last known
// extent of each segment: a crash between writing and publishing leaves such ones, and they harm nobody.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fulcrum/key.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"
#include "tiers/store_image.h"

namespace fulcrum {

struct DamagedRow {
  BlockKey key;
  std::uint32_t segment = 0;
  Bytes offset{};    ///< in the segment's file
  std::string what;  ///< "wrong checksum", or why it could not be read
};

/// A header that cannot be read, or tells of another extent than the journal does.
struct DamagedHeader {
  std::uint32_t segment = 0;
  Bytes offset{};
  std::string what;
  std::vector<BlockKey> blocks;  ///< live ones of the extent
};

struct CheckReport {
  std::uint64_t extents = 0;
  std::uint64_t rows = 0;  ///< verified, damaged ones included
  Bytes bytes{};           ///< read
  Seconds elapsed{};
  std::vector<DamagedRow> damaged_rows;
  std::vector<DamagedHeader> damaged_headers;
  std::uint64_t orphan_extents = 0;  ///< written and never published
  std::uint64_t orphan_rows = 0;
};

struct CheckProgress {
  Bytes done{};
  Bytes total{};
  std::uint64_t damaged = 0;
};

/// `progress` is called now and then; false stops the check. Kinds: interrupted (stopped), timed_out (the
/// device does not answer), device, no_memory.
[[nodiscard]] Result<CheckReport> check_store(StoreImage& image, Clock& clock,
                                              const std::function<bool(const CheckProgress&)>& progress);

}  // namespace fulcrum
