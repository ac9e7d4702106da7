#include "tiers/segment_table.h"

#include <algorithm>

#include "base/check.h"

namespace fulcrum {

void SegmentTable::move(std::uint32_t i, SegmentState to) {
  Segment& segment = segments_[i];
  FULCRUM_CHECK(to != SegmentState::open || !open_, "one segment is open at a time");
  if (segment.state == SegmentState::open) open_.reset();
  if (to == SegmentState::open) open_ = i;
  --counts_[static_cast<std::size_t>(segment.state)];
  ++counts_[static_cast<std::size_t>(to)];
  segment.state = to;
}

std::optional<std::uint32_t> SegmentTable::any(SegmentState state) const {
  if (count(state) == 0) return std::nullopt;
  const auto found = std::ranges::find(segments_, state, &Segment::state);
  if (found == segments_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - segments_.begin());
}

std::uint32_t SegmentTable::allocated() const {
  return size() - count(SegmentState::ungrown) - count(SegmentState::growing);
}

std::uint32_t SegmentTable::settle(Lsn written) {
  if (count(SegmentState::retiring) == 0) return 0;
  std::uint32_t freed = 0;
  for (std::uint32_t i = 0; i < size(); ++i) {
    Segment& segment = segments_[i];
    const bool idle = segment.readers == 0 && segment.writers == 0;
    if (segment.state != SegmentState::retiring || !idle || segment.ready > written) continue;
    move(i, SegmentState::free);
    segment.head = 0;
    ++freed;
  }
  return freed;
}

}  // namespace fulcrum
