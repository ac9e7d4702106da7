#include "tiers/extent_index.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fulcrum {
namespace {

static_assert(kExtentBlocks <= 256, "a position has 8 bits");

std::uint64_t pack(std::uint32_t extent, std::size_t position) {
  return ((std::uint64_t{extent} + 1) << 8) | position;
}

BlockPlace unpack(std::uint64_t slot) {
  return {static_cast<std::uint32_t>((slot >> 8) - 1), static_cast<std::uint32_t>(slot & 0xff)};
}

float finite(float worth) {
  constexpr float kMost = 1e30F;
  return worth >= -kMost ? std::min(worth, kMost) : -kMost;  // also for what is no number
}

}  // namespace

std::size_t ExtentIndex::home(const BlockKey& key) const {
  // Keys are hashes already; the product spreads those that a host made otherwise.
  const std::uint64_t mixed = (key.low ^ (key.high >> 1)) * 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(mixed >> 20) & (slots_.size() - 1);
}

const BlockKey& ExtentIndex::key_of(std::uint64_t slot) const {
  return block(unpack(slot)).key;
}

std::size_t ExtentIndex::slot_of(const BlockKey& key) const {
  std::size_t at = home(key);
  while (slots_[at] != 0 && key_of(slots_[at]) != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void ExtentIndex::grow() {
  std::vector<std::uint64_t> old(slots_.size() * 2);
  std::swap(old, slots_);
  for (const std::uint64_t slot : old) {
    if (slot != 0) slots_[slot_of(key_of(slot))] = slot;
  }
}

void ExtentIndex::insert(const BlockKey& key, std::uint64_t slot) {
  if ((blocks_ + 1) * 4 > slots_.size() * 3) grow();
  slots_[slot_of(key)] = slot;
  ++blocks_;
}

void ExtentIndex::remove(std::size_t at) {
  // Linear probing without tombstones: what was pushed past the hole moves back into it.
  const std::size_t mask = slots_.size() - 1;
  slots_[at] = 0;
  --blocks_;
  for (std::size_t next = (at + 1) & mask; slots_[next] != 0; next = (next + 1) & mask) {
    const std::size_t wished = home(key_of(slots_[next]));
    if (((next - wished) & mask) < ((next - at) & mask)) continue;
    slots_[at] = std::exchange(slots_[next], 0);
    at = next;
  }
}

void ExtentIndex::kill(const BlockPlace& place) {
  Entry& entry = extents_[place.extent];
  entry.facts.blocks[place.position].worth = kGone;
  --entry.live;
}

std::size_t ExtentIndex::lower(const std::vector<ExtentId>& siblings, std::uint32_t page) const {
  const auto found = std::lower_bound(
      siblings.begin(), siblings.end(), page,
      [this](ExtentId id, std::uint32_t wanted) { return extents_[id].facts.page < wanted; });
  return static_cast<std::size_t>(found - siblings.begin());
}

std::pair<std::size_t, std::size_t> ExtentIndex::overlap(const ExtentFacts& facts) const {
  const std::vector<ExtentId>& siblings = by_segment_[facts.segment];
  const auto end_of = [this](const ExtentFacts& of) { return row_page(of.page, of.blocks.size(), stride_); };
  std::size_t begin = lower(siblings, facts.page);
  const std::size_t end = lower(siblings, end_of(facts));
  // They share no page with each other: only the one before can reach so far.
  if (begin > 0 && end_of(extents_[siblings[begin - 1]].facts) > facts.page) --begin;
  return {begin, std::max(begin, end)};
}

std::uint32_t ExtentIndex::make_way(const ExtentFacts& facts) {
  const auto [begin, end] = overlap(facts);
  std::vector<ExtentId>& siblings = by_segment_[facts.segment];
  const auto first = siblings.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = siblings.begin() + static_cast<std::ptrdiff_t>(end);
  if (first == last) return 0;
  std::vector<BlockKey> dropped;
  std::for_each(first, last, [&](ExtentId id) { empty(id, dropped); });
  siblings.erase(first, last);
  std::erase_if(changed_, [this](ExtentId id) { return !extents_[id].changed; });
  return static_cast<std::uint32_t>(end - begin);
}

ExtentIndex::ExtentId ExtentIndex::add(ExtentFacts facts) {
  FULCRUM_CHECK(facts.segment < by_segment_.size() && facts.blocks.size() <= kExtentBlocks, "a bad extent");
  const auto [begin, end] = overlap(facts);
  FULCRUM_CHECK(begin == end, "two extents on one page");
  ExtentId id = static_cast<ExtentId>(extents_.size());
  if (vacant_.empty()) {
    extents_.emplace_back();
  } else {
    id = vacant_.back();
    vacant_.pop_back();
  }
  std::vector<ExtentId>& siblings = by_segment_[facts.segment];
  siblings.insert(siblings.begin() + static_cast<std::ptrdiff_t>(begin), id);
  extents_[id].facts = std::move(facts);
  std::vector<StoredBlock>& blocks = extents_[id].facts.blocks;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].live()) continue;
    blocks[i].worth = finite(blocks[i].worth);
    const std::size_t at = slot_of(blocks[i].key);
    if (slots_[at] != 0) {
      kill(unpack(slots_[at]));
      slots_[at] = pack(id, i);
    } else {
      insert(blocks[i].key, pack(id, i));
    }
    ++extents_[id].live;
  }
  return id;
}

std::optional<BlockPlace> ExtentIndex::find(const BlockKey& key) const {
  const std::uint64_t slot = slots_[slot_of(key)];
  if (slot == 0) return std::nullopt;
  return unpack(slot);
}

std::optional<ExtentIndex::ExtentId> ExtentIndex::at(std::uint32_t segment, std::uint32_t page) const {
  const std::vector<ExtentId>& siblings = by_segment_[segment];
  const std::size_t place = lower(siblings, page);
  if (place == siblings.size() || extents_[siblings[place]].facts.page != page) return std::nullopt;
  return siblings[place];
}

std::uint32_t ExtentIndex::live_in(std::uint32_t segment) const {
  std::uint32_t live = 0;
  for (const ExtentId id : by_segment_[segment]) live += extents_[id].live;
  return live;
}

void ExtentIndex::mark(ExtentId id) {
  if (std::exchange(extents_[id].changed, true)) return;
  changed_.push_back(id);
}

bool ExtentIndex::forget(const BlockKey& key) {
  const std::size_t at = slot_of(key);
  if (slots_[at] == 0) return false;
  const BlockPlace place = unpack(slots_[at]);
  remove(at);
  kill(place);
  mark(place.extent);
  return true;
}

bool ExtentIndex::touch(const BlockKey& key, std::optional<float> worth, std::uint64_t used_ms) {
  const std::optional<BlockPlace> place = find(key);
  if (!place) return false;
  ExtentFacts& facts = extents_[place->extent].facts;
  if (worth) facts.blocks[place->position].worth = finite(*worth);
  facts.used_ms = std::max(facts.used_ms, used_ms);
  mark(place->extent);
  return true;
}

void ExtentIndex::apply(const WorthRecord& record) {
  if (record.segment >= by_segment_.size()) return;
  const std::vector<ExtentId>& siblings = by_segment_[record.segment];
  const std::size_t at = lower(siblings, record.page);
  if (at == siblings.size()) return;
  const ExtentId id = siblings[at];
  ExtentFacts& facts = extents_[id].facts;
  if (facts.page != record.page || facts.generation != record.generation) return;
  if (facts.blocks.size() != record.worth.size()) return;
  facts.used_ms = std::max(facts.used_ms, record.used_ms);
  for (std::size_t i = 0; i < record.worth.size(); ++i) {
    if (!facts.blocks[i].live()) continue;
    if (record.worth[i] > kGone) {
      facts.blocks[i].worth = finite(record.worth[i]);
    } else {
      remove(slot_of(facts.blocks[i].key));
      kill({id, static_cast<std::uint32_t>(i)});
    }
  }
}

void ExtentIndex::empty(ExtentId id, std::vector<BlockKey>& dropped) {
  Entry& entry = extents_[id];
  for (const StoredBlock& block : entry.facts.blocks) {
    if (!block.live()) continue;
    dropped.push_back(block.key);
    remove(slot_of(block.key));
  }
  entry = {};
  vacant_.push_back(id);
}

std::vector<BlockKey> ExtentIndex::drop_segment(std::uint32_t segment) {
  std::vector<BlockKey> dropped;
  for (const ExtentId id : by_segment_[segment]) empty(id, dropped);
  std::erase_if(changed_, [this](ExtentId id) { return !extents_[id].changed; });
  by_segment_[segment] = {};
  return dropped;
}

std::vector<ExtentIndex::ExtentId> ExtentIndex::take_changed() {
  for (const ExtentId id : changed_) extents_[id].changed = false;
  return std::exchange(changed_, {});
}

}  // namespace fulcrum
