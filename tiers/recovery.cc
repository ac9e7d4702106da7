#include "tiers/recovery.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

namespace fulcrum {
namespace {

/// Not row_page(): what a journal claims may not fit into 32 bits.
std::int64_t end_page(const ExtentFacts& facts, const FileLayout& layout) {
  const auto rows = static_cast<std::int64_t>(facts.blocks.size());
  return std::int64_t{facts.page} + 1 + rows * (layout.stride() / static_cast<std::int64_t>(kPage));
}

/// The same extent, whatever has become of its blocks.
bool same_rows(const ExtentFacts& a, const ExtentFacts& b) {
  const auto same = [](const StoredBlock& x, const StoredBlock& y) {
    return x.key == y.key && x.sum == y.sum;
  };
  return a.first == b.first && a.parent == b.parent && std::ranges::equal(a.blocks, b.blocks, same);
}

class Replay {
 public:
  Replay(const FileLayout& layout, StoreState& state) : layout_(layout), state_(state) {}

  void operator()(ExtentFacts& facts) {
    const std::int64_t pages = layout_.segment_bytes.value() / static_cast<std::int64_t>(kPage);
    if (facts.segment >= layout_.segments) ++state_.beyond;
    if (facts.segment >= layout_.segments || end_page(facts, layout_) > pages) return;
    if (!enter(facts.segment, facts.generation)) return;
    const std::optional<ExtentIndex::ExtentId> known = state_.index.at(facts.segment, facts.page);
    // A checkpoint has it already, as it was later.
    if (known && same_rows(state_.index.extent(*known), facts)) return;
    Segment& segment = state_.segments[facts.segment];
    segment.head = std::max(segment.head, static_cast<std::uint32_t>(end_page(facts, layout_)));
    state_.contradicted += state_.index.make_way(facts);
    state_.index.add(std::move(facts));
  }
  void operator()(const SegmentRecord& record) {
    if (record.segment < layout_.segments) enter(record.segment, record.generation);
  }
  void operator()(const WorthRecord& record) { state_.index.apply(record); }
  void operator()(const WriteHistory& history) { state_.history = history; }

 private:
  /// Begins a segment's new life where it is one; false where it is an old one.
  bool enter(std::uint32_t number, std::uint32_t generation) {
    Segment& segment = state_.segments[number];
    if (generation < segment.generation) return false;
    if (generation > segment.generation) {
      state_.index.drop_segment(number);
      segment.generation = generation;
      segment.head = 0;
    }
    return true;
  }
  const FileLayout& layout_;
  StoreState& state_;
};

}  // namespace

void take_up(Record& record, const FileLayout& layout, StoreState& state) {
  std::visit(Replay(layout, state), record);
}

void take_up(std::span<Record> records, const FileLayout& layout, StoreState& state) {
  for (Record& record : records) take_up(record, layout, state);
}

void settle_segments(const FileLayout& layout, StoreState& state) {
  std::optional<std::uint32_t> roomiest;
  for (std::uint32_t i = 0; i < state.segments.size(); ++i) {
    Segment& segment = state.segments[i];
    if (segment.head > 0) {
      state.segments.move(i, SegmentState::sealed);
      if (!roomiest || segment.head < state.segments[*roomiest].head) roomiest = i;
    } else if (segment.generation > 0) {
      state.segments.move(i, SegmentState::free);
    }
  }
  const auto pages =
      static_cast<std::uint32_t>(layout.segment_bytes.value() / static_cast<std::int64_t>(kPage));
  const auto least = static_cast<std::uint32_t>(1 + layout.stride() / static_cast<std::int64_t>(kPage));
  if (roomiest && pages - state.segments[*roomiest].head >= least) {
    state.segments.move(*roomiest, SegmentState::open);
  }
}

void make_room(const FileLayout& layout, StoreState& state) {
  std::vector<std::pair<double, std::uint32_t>> used;
  for (std::uint32_t i = 0; i < state.segments.size(); ++i) {
    if (state.segments[i].head == 0) continue;
    double worth = 0;
    for (const ExtentIndex::ExtentId id : state.index.in_segment(i)) {
      for (const StoredBlock& block : state.index.extent(id).blocks) worth += std::exp2(double{block.worth});
    }
    used.emplace_back(worth, i);
  }
  std::ranges::sort(used);
  const std::size_t most = layout.segments - layout.spare_segments();
  const std::size_t excess = used.size() > most ? used.size() - most : 0;
  for (const auto& [worth, i] : std::span(used).first(excess)) {
    state.index.drop_segment(i);
    ++state.segments[i].generation;
    state.segments[i].head = 0;
  }
}

void trim(std::uint64_t rows, StoreState& state) {
  if (state.index.blocks() <= rows) return;
  std::vector<std::pair<float, BlockKey>> all;
  for (std::uint32_t id = 0; id < state.index.extents_end(); ++id) {
    for (const StoredBlock& block : state.index.extent(id).blocks) {
      if (block.live()) all.emplace_back(block.worth, block.key);
    }
  }
  std::ranges::sort(all, std::less<>(), [](const auto& block) { return block.first; });
  for (const auto& [worth, key] : all) {
    if (state.index.blocks() <= rows) return;
    state.index.forget(key);
  }
}

}  // namespace fulcrum
