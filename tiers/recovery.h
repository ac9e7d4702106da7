// Recovery: the live state of a store, made from its journal. Verifies no row: rows are verified when read.
#pragma once

#include <cstdint>
#include <span>

#include "tiers/extent_index.h"
#include "tiers/format.h"
#include "tiers/segment_table.h"

namespace fulcrum {

struct StoreState {
  ExtentIndex index;
  SegmentTable segments;
  WriteHistory history;
  std::uint64_t time_ms = 0;  ///< the store's time: how long it has been open, all in all
  /// Extents that a later record of the same life of their segment wrote over: no store says so.
  std::uint64_t contradicted = 0;
  std::uint64_t beyond = 0;  ///< extents in segments that the layout does not have

  explicit StoreState(const FileLayout& layout)
      : index(layout.segments, layout.stride()), segments(layout.segments) {}
};

/// Takes up a record, in their order. What does not fit the layout, or is of a segment's earlier life, is
/// left out. Of two extents that share a page the later one counts, as their rows were written in that order:
/// the earlier one is gone with all its blocks.
void take_up(Record& record, const FileLayout& layout, StoreState& state);
void take_up(std::span<Record> records, const FileLayout& layout, StoreState& state);
/// After the replay: gives every segment its state. The one with most room left is open again.
void settle_segments(const FileLayout& layout, StoreState& state);

/// Empties the least worthy segments until as many are free as a store needs to move blocks: for one that has
/// fewer segments than before. Call it before settle_segments().
void make_room(const FileLayout& layout, StoreState& state);

/// Forgets the least worthy blocks above `rows`: erasures that were not written down in time can bring back
/// more than the store may hold.
void trim(std::uint64_t rows, StoreState& state);

}  // namespace fulcrum
