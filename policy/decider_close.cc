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

bool Decider::Impl::wants(TierId tier, NodeId node) const {
  const std::uint32_t reach = std::max(index_[node].reach, index_[node].end());
  return writable(tier) && valuation_->admits(tier, costs_.block_tokens() * static_cast<std::int64_t>(reach));
}

// The most valuable last: they are taken from the back.
void Decider::Impl::list_parting() {
  parting_.emplace();
  if (valuation_->placement() != Placement::first_tier || !memory_first_) return;
  std::vector<std::pair<double, NodeId>> worths;
  index_.each([&](NodeId id) {
    if (!only_in_memory(id)) return;
    for (TierId below = 1; below < costs_.tiers(); ++below) {
      if (!wants(below, id)) continue;
      worths.emplace_back(residency_.worth(id, below), id);
      return;
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

// Orders the front of a node down, at most so many bytes. Zero: it would have to wait for a write limit.
// None: no tier takes it.
std::optional<Bytes> Decider::Impl::part_with(NodeId node, Bytes most) {
  bool later = false;
  for (TierId below = 1; below < costs_.tiers(); ++below) {
    if (!wants(below, node)) continue;
    const bool affordable = state(below).budget.affords(1, costs_.block_bytes()) > 0;
    if (const Bytes ordered = affordable ? part_with(node, below, most) : Bytes(0); ordered > Bytes(0)) {
      return ordered;
    }
    later = later || !affordable;
  }
  return later ? std::optional<Bytes>(Bytes(0)) : std::nullopt;
}

Bytes Decider::Impl::part_with(NodeId node, TierId below, Bytes most) {
  const std::int64_t wanted =
      std::clamp<std::int64_t>(most.value() / costs_.block_bytes().value(), 1, index_[node].count());
  const NodeId above = index_[node].parent;
  const bool hangs_there = above != kRoot && index_[above].in(below);
  if (hangs_there) residency_.hold(above, below);  // room is not made by what this hangs on
  const std::uint32_t fits = admit_node(node, below, static_cast<std::uint32_t>(wanted));
  if (hangs_there) residency_.release(above, below);
  if (fits > 0) order_demotion(fits < index_[node].count() ? index_.split(node, fits) : node, 0, below);
  return bytes(fits);
}

}  // namespace fulcrum
