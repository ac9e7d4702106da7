#include "policy/head_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fulcrum {

// Hosts may bring keys with few random bits, so they are mixed here. Zero stands for no block (BlockTable).
std::uint32_t HeadTable::hash(const BlockKey& key) {
  std::uint64_t x = key.low ^ (key.high * 0x9E3779B97F4A7C15ULL);
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ULL;
  return std::max(static_cast<std::uint32_t>(x >> 32), 1U);
}

NodeId HeadTable::find(const BlockKey& key, const std::vector<PrefixNode>& nodes) const {
  const std::uint32_t h = hash(key);
  for (std::size_t i = h & mask(); slots_[i].node != kNoNode; i = (i + 1) & mask()) {
    if (slots_[i].hash == h && nodes[slots_[i].node].keys.front() == key) return slots_[i].node;
  }
  return kNoNode;
}

void HeadTable::insert(const BlockKey& key, NodeId node) {
  if ((used_ + 1) * 3 > slots_.size() * 2) grow();
  const std::uint32_t h = hash(key);
  std::size_t i = h & mask();
  while (slots_[i].node != kNoNode) i = (i + 1) & mask();
  slots_[i] = Slot{h, node};
  ++used_;
}

std::size_t HeadTable::place(const BlockKey& key, NodeId node) const {
  std::size_t i = hash(key) & mask();
  while (slots_[i].node != node) {
    FULCRUM_CHECK(slots_[i].node != kNoNode, "the run is in the table");
    i = (i + 1) & mask();
  }
  return i;
}

void HeadTable::replace(const BlockKey& key, NodeId from, NodeId to) {
  slots_[place(key, from)].node = to;
}

// Shifts the following entries back, so that no tombstones lengthen later lookups.
void HeadTable::erase(const BlockKey& key, NodeId node) {
  std::size_t hole = place(key, node);
  for (std::size_t i = (hole + 1) & mask(); slots_[i].node != kNoNode; i = (i + 1) & mask()) {
    const std::size_t home = slots_[i].hash & mask();
    if (((i - home) & mask()) < ((i - hole) & mask())) continue;
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = Slot{};
  --used_;
}

void HeadTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.node == kNoNode) continue;
    std::size_t i = slot.hash & mask();
    while (slots_[i].node != kNoNode) i = (i + 1) & mask();
    slots_[i] = slot;
  }
}

}  // namespace fulcrum
