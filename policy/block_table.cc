#include "policy/block_table.h"

#include <utility>

#include "base/check.h"

namespace fulcrum {
namespace {

constexpr std::size_t kLeast = 16;

}  // namespace

void BlockTable::insert(std::uint32_t block, std::uint32_t before) {
  Part& own = part(block);
  if ((own.used + 1) * 3 > own.slots.size() * 2) grow(own);
  put(own.slots, {block, before});
  ++own.used;
}

void BlockTable::put(std::vector<Slot>& slots, Slot slot) {
  std::size_t i = home(slot.block, slots);
  while (slots[i].block != 0) i = (i + 1) & (slots.size() - 1);
  slots[i] = slot;
}

void BlockTable::grow(Part& part) {
  std::vector<Slot> old(part.slots.empty() ? kLeast : part.slots.size() * 2);
  std::swap(old, part.slots);
  for (const Slot& slot : old) {
    if (slot.block != 0) put(part.slots, slot);
  }
}

// Shifts the following entries back, so that no tombstones lengthen later lookups.
void BlockTable::erase(std::uint32_t block, std::uint32_t before) {
  Part& own = part(block);
  std::vector<Slot>& slots = own.slots;
  FULCRUM_CHECK(!slots.empty(), "the block is in the table");
  const std::size_t mask = slots.size() - 1;
  std::size_t hole = home(block, slots);
  while (slots[hole].block != block || slots[hole].before != before) {
    FULCRUM_CHECK(slots[hole].block != 0, "the block is in the table");
    hole = (hole + 1) & mask;
  }
  for (std::size_t i = (hole + 1) & mask; slots[i].block != 0; i = (i + 1) & mask) {
    if (((i - home(slots[i].block, slots)) & mask) < ((i - hole) & mask)) continue;
    slots[hole] = slots[i];
    hole = i;
  }
  slots[hole] = Slot{};
  --own.used;
}

std::size_t BlockTable::bytes() const {
  std::size_t bytes = 0;
  for (const Part& own : parts_) bytes += own.slots.capacity() * sizeof(Slot);
  return bytes;
}

}  // namespace fulcrum
