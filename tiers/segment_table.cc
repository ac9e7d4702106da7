#include "tiers/segment_table.h"

#include <algorithm>

namespace fulcrum {

std::uint32_t SegmentTable::count(SegmentState state) const {
  return static_cast<std::uint32_t>(std::ranges::count(segments_, state, &Segment::state));
}

std::optional<std::uint32_t> SegmentTable::any(SegmentState state) const {
  const auto found = std::ranges::find(segments_, state, &Segment::state);
  if (found == segments_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - segments_.begin());
}

std::uint32_t SegmentTable::allocated() const {
  return size() - count(SegmentState::ungrown) - count(SegmentState::growing);
}

std::uint32_t SegmentTable::settle(Lsn written) {
  std::uint32_t freed = 0;
  for (Segment& segment : segments_) {
    const bool idle = segment.readers == 0 && segment.writers == 0;
    if (segment.state == SegmentState::retiring && idle && segment.ready <= written) {
      segment.state = SegmentState::free;
      segment.head = 0;
      ++freed;
    }
  }
  return freed;
}

}  // namespace fulcrum
