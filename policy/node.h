// PrefixNode: a run of consecutive blocks of one chain that share everything but their keys.
//
// Invariants: `keys` is never empty (but for the root); `resident` and `pending` have no tier in common;
// a node in use by an order in flight (`busy`) is neither joined nor forgotten, and does not leave a tier
// that it is read from.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "fulcrum/decision.h"
#include "policy/tier_index.h"

namespace fulcrum {

using NodeId = std::uint32_t;
inline constexpr NodeId kRoot = 0;
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();

/// One bit a tier.
using TierMask = std::uint8_t;
static_assert(kMaxTiers <= 8);
[[nodiscard]] constexpr TierMask bit(TierId tier) {
  return static_cast<TierMask>(1U << static_cast<unsigned>(tier));
}

/// Eviction orders: one a tier, and one for nodes that no tier holds.
inline constexpr std::size_t kLanes = kMaxTiers + 1;
inline constexpr std::size_t kForgotten = kMaxTiers;
inline constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

struct PrefixNode {
  std::vector<BlockKey> keys;
  NodeId parent = kNoNode;
  NodeId first_child = kNoNode;
  NodeId next = kNoNode;      ///< sibling
  NodeId previous = kNoNode;  ///< sibling
  std::uint32_t start = 0;    ///< position of keys[0] in the chain, in blocks
  std::uint32_t reach = 0;    ///< where the chain ended that last went through here, in blocks
  std::uint64_t tick = 0;     ///< number of the last use: later uses have higher ones
  Seconds used{};             ///< time of the last use
  OrderId loading = 0;        ///< read in flight that brings these blocks; 0: none
  std::uint32_t uses = 1;     ///< times asked for, up to kUsesCounted
  std::uint16_t busy = 0;     ///< orders in flight that read or write these blocks
  std::array<std::uint8_t, kMaxTiers> readers{};         ///< of these, orders that read them from each tier
  TierMask resident = 0;                                 ///< tiers that hold the blocks
  TierMask pending = 0;                                  ///< tiers that they are being written to
  std::array<std::uint32_t, kMaxTiers> children_in{};    ///< children present in each tier
  std::array<std::uint32_t, kLanes> slots = no_slots();  ///< places in the eviction orders

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(keys.size()); }
  [[nodiscard]] std::uint32_t end() const { return start + count(); }
  [[nodiscard]] bool read_from(TierId tier) const { return readers[index_of(tier)] != 0; }
  /// Tiers that hold the blocks or soon will.
  [[nodiscard]] TierMask present() const { return resident | pending; }
  [[nodiscard]] bool in(TierId tier) const { return (present() & bit(tier)) != 0; }

  static constexpr std::array<std::uint32_t, kLanes> no_slots() {
    std::array<std::uint32_t, kLanes> slots{};
    slots.fill(kNoSlot);
    return slots;
  }
};

/// More uses than this are not told apart: nodes of one chain become equal again and can be joined.
inline constexpr std::uint32_t kUsesCounted = 8;

}  // namespace fulcrum
