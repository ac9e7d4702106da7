// Decider: the last moment before the process ends. What only memory holds moves down, or is gone.
#include <algorithm>
#include <utility>

#include "policy/decider_impl.h"

namespace fulcrum {

bool Decider::Impl::only_in_memory(NodeId node) const {
  const PrefixNode& own = index_[node];
  const int below = (own.present() & traffic_.open()) >> 1;
  return (own.resident & bit(0)) != 0 && below == 0;
}

// The first tier below memory that a node is worth being written to.
TierId Decider::Impl::tier_below(NodeId node) const {
  const std::uint32_t reach = std::max(index_[node].reach, index_[node].end());
  for (TierId below = 1; below < costs_.tiers(); ++below) {
    if (!writable(below)) continue;
    if (valuation_->admits(below, costs_.block_tokens() * static_cast<std::int64_t>(reach))) return below;
  }
  return kNowhere;
}

// The most valuable last: they are taken from the back.
void Decider::Impl::list_parting() {
  parting_.emplace();
  if (valuation_->placement() != Placement::first_tier || !memory_first_) return;
  std::vector<std::pair<double, NodeId>> worths;
  index_.each([&](NodeId id) {
    if (!only_in_memory(id)) return;
    if (const TierId below = tier_below(id); below != kNowhere) {
      worths.emplace_back(residency_.worth(id, below), id);
    }
  });
  std::ranges::sort(worths);
  for (const auto& [worth, id] : worths) parting_->push_back(id);
}

std::optional<Bytes> Decider::Impl::on_close(Bytes most, Seconds now) {
  advance(now);
  if (!parting_) list_parting();
  for (; !parting_->empty(); parting_->pop_back()) {
    // A back is of no use without its front, which goes before it.
    NodeId front = kNoNode;
    for (NodeId id = parting_->back(); id != kRoot; id = index_[id].parent) {
      if (only_in_memory(id)) front = id;
    }
    if (front == kNoNode) continue;  // it has gone
    if (const std::optional<Bytes> ordered = part_with(front, most)) return ordered;
  }
  return std::nullopt;
}

// Orders the front of a node down, at most so many bytes. Zero: it would have to wait for the write limit.
// None: the tier below does not take it.
std::optional<Bytes> Decider::Impl::part_with(NodeId node, Bytes most) {
  const TierId below = tier_below(node);
  if (below == kNowhere) return std::nullopt;
  if (state(below).budget.affords(1, costs_.block_bytes()) == 0) return Bytes(0);
  const std::int64_t wanted =
      std::clamp<std::int64_t>(most.value() / costs_.block_bytes().value(), 1, index_[node].count());
  const NodeId above = index_[node].parent;
  const bool above_below = above != kRoot && index_[above].in(below);
  if (above_below) residency_.hold(above, below);  // room is not made by what this hangs on
  const std::uint32_t fits = admit_node(node, below, static_cast<std::uint32_t>(wanted));
  if (above_below) residency_.release(above, below);
  if (fits == 0) return std::nullopt;
  order_demotion(fits < index_[node].count() ? index_.split(node, fits) : node, 0, below);
  return bytes(fits);
}

}  // namespace fulcrum
