// BlockTable: from a block to the one before it in its chain, both by 32 bits of their keys' hash.
//
// What stands before a block never changes, however the tree of runs is cut and joined: the table needs no
// care but for blocks that come and go. Hashes may be equal where keys are not: whoever follows the table
// compares keys where it leads.
//
// Open addressing in many small tables, so that no growth takes long. 8 bytes a slot. Nothing may depend on
// the order of a table, and nothing here shows it: blocks before equal hashes are visited as a set would be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fulcrum {

class BlockTable {
 public:
  static constexpr std::uint32_t kFront = 0;  ///< no block is before it

  /// `block` is not 0.
  void insert(std::uint32_t block, std::uint32_t before);
  /// The pair is in the table.
  void erase(std::uint32_t block, std::uint32_t before);
  /// visit(before) for each block of this hash.
  template <class Visit>
  void each(std::uint32_t block, Visit&& visit) const {
    const std::vector<Slot>& slots = part(block).slots;
    if (slots.empty()) return;
    for (std::size_t i = home(block, slots); slots[i].block != 0; i = (i + 1) & (slots.size() - 1)) {
      if (slots[i].block == block) visit(slots[i].before);
    }
  }
  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr unsigned kPartBits = 8;
  struct Slot {
    std::uint32_t block = 0;  ///< 0: free
    std::uint32_t before = 0;
  };
  struct Part {
    std::vector<Slot> slots;
    std::size_t used = 0;
  };
  static std::size_t home(std::uint32_t block, const std::vector<Slot>& slots) {
    return block & (slots.size() - 1);
  }
  [[nodiscard]] const Part& part(std::uint32_t block) const { return parts_[block >> (32 - kPartBits)]; }
  [[nodiscard]] Part& part(std::uint32_t block) { return parts_[block >> (32 - kPartBits)]; }
  static void put(std::vector<Slot>& slots, Slot slot);
  static void grow(Part& part);

  std::array<Part, std::size_t{1} << kPartBits> parts_;
};

}  // namespace fulcrum
