#include "tiers/file_tier_core.h"

#include <algorithm>
#include <utility>

namespace fulcrum {

void FileTierCore::rewind() {
  next_segment_ = 0;
  next_extent_ = 0;
  history_told_ = false;
}

std::uint32_t FileTierCore::encode_more(std::vector<std::byte>& out, std::size_t room) {
  constexpr std::size_t kLargest = extent_record_bytes(kExtentBlocks);
  std::uint32_t count = 0;
  const auto fits = [&] { return out.size() + kLargest <= room; };
  if (!std::exchange(history_told_, true)) {
    encode_record(state.history, out);
    ++count;
  }
  for (; next_segment_ < state.segments.size() && fits(); ++next_segment_) {
    const std::uint32_t generation = state.segments[next_segment_].generation;
    if (generation == 0) continue;
    encode_record(SegmentRecord{next_segment_, generation}, out);
    ++count;
  }
  for (; next_extent_ < state.index.extents_end() && fits(); ++next_extent_) {
    const ExtentFacts& facts = state.index.extent(next_extent_);
    if (std::ranges::none_of(facts.blocks, &StoredBlock::live)) continue;
    encode_record(facts, out);
    ++count;
  }
  return count;
}

void FileTierCore::report(TierEvent event) {
  // Progress that nobody has collected yet is overtaken by later progress of the same job.
  if (!events.empty() && events.back().id == event.id && !events.back().ended) {
    events.back() = std::move(event);
  } else {
    events.push_back(std::move(event));
  }
}

}  // namespace fulcrum
