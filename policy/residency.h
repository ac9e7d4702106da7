// Residency: which tier holds which blocks, within its capacity, and what leaves first.
//
// Invariants, whatever the events:
//  - bytes present (resident or being written) of a tier never exceed its capacity;
//  - whatever a tier holds, its parent is present in some tier: blocks that no request could use are dropped;
//  - within a tier the back of a chain leaves before its front, and blocks do not leave while they are read.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "policy/costs.h"
#include "policy/eviction.h"
#include "policy/orders.h"
#include "policy/prefix_index.h"
#include "policy/valuation.h"

namespace fulcrum {

class Residency {
 public:
  struct Tier {
    Bytes capacity{};
    Bytes used{};
    std::uint64_t evicted = 0;  ///< blocks
    std::uint64_t shed = 0;     ///< of them, those that made room unsaved: a tier below wants such chains
  };

  /// All arguments outlive this. Blocks that no tier holds are remembered for their uses as long as they
  /// are at most `forgotten_most`.
  Residency(const PolicyConfig& policy, const Costs& costs, const Valuation& valuation, PrefixIndex& index,
            Orders& orders, std::size_t forgotten_most);

  /// The nodes were asked for now, in a chain of `reach` blocks; 0: as long as it was.
  void touch(std::span<const NodeId> path, Seconds now, bool asked, std::uint32_t reach);
  /// A node that was found at the start, last used then. Later calls are later uses.
  void seen(NodeId node, Seconds used);
  /// Sets what holds a node.
  void change(NodeId node, TierMask resident, TierMask pending);
  /// An order in flight uses these blocks, and reads them from `source` where that is a tier; or no longer.
  void hold(NodeId node, TierId source);
  void release(NodeId node, TierId source);
  /// Puts a node where it belongs in the orders of eviction.
  void refresh(NodeId node);
  /// Drops blocks of a tier that are not being read there, and whatever was of use only together with it.
  void drop(NodeId node, TierId tier);
  /// Drops what cannot be used because its parent is nowhere.
  void drop_orphans(NodeId parent);
  /// Makes room for blocks worth `worth` by dropping what is worth less. Returns how many fit, <= wanted.
  std::uint32_t make_room(TierId tier, std::uint32_t wanted, double worth);
  /// Cuts off the last `blocks` of a node; returns the number of the part behind the cut.
  NodeId cut_back(NodeId node, std::uint32_t blocks);
  /// Forgets the longest unused of what no tier holds, down to the limit.
  void trim();

  /// A tier holds the node, nobody reads it there, and nothing behind it is there.
  [[nodiscard]] bool may_leave(NodeId node, TierId tier) const;
  [[nodiscard]] double worth(NodeId node, TierId tier) const;
  /// A tier below holds chains that end where those of the node do, if it gets them.
  [[nodiscard]] bool wanted_below(NodeId node, TierId tier) const;
  [[nodiscard]] const Tier& tier(TierId id) const { return tiers_[index_of(id)]; }
  [[nodiscard]] EvictionOrder& order(TierId id) { return orders_of_[index_of(id)]; }
  [[nodiscard]] Bytes memory() const;

 private:
  void count_child(NodeId parent, TierMask before, TierMask after);
  [[nodiscard]] std::uint32_t free_blocks(TierId tier) const;

  const Costs& costs_;
  const Valuation& valuation_;
  PrefixIndex& index_;
  Orders& orders_;
  TierId tier_count_;
  std::array<Tier, kMaxTiers> tiers_{};
  std::vector<EvictionOrder> orders_of_;  ///< by lane
  std::size_t present_ = 0;               ///< blocks that some tier holds
  std::size_t forgotten_most_;
  std::uint64_t tick_ = 0;
  std::vector<NodeId> stack_;  ///< scratch
};

}  // namespace fulcrum
