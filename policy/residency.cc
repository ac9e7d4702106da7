#include "policy/residency.h"

#include <algorithm>

#include "base/check.h"

namespace fulcrum {

Residency::Residency(const PolicyConfig& policy, const Costs& costs, const Valuation& valuation,
                     PrefixIndex& index, Orders& orders, std::size_t forgotten_most)
    : costs_(costs),
      valuation_(valuation),
      index_(index),
      orders_(orders),
      tier_count_(costs.tiers()),
      forgotten_most_(forgotten_most) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) orders_of_.emplace_back(index, lane);
  for (std::size_t i = 0; i < policy.tiers.size(); ++i) tiers_[i].capacity = policy.tiers[i].capacity;
}

double Residency::worth(NodeId id, TierId tier) const {
  const PrefixNode& node = index_[id];
  const auto tokens = [this](std::uint32_t blocks) {
    return costs_.block_tokens() * static_cast<std::int64_t>(blocks);
  };
  return valuation_.worth(tier, {tokens(node.start), tokens(node.end()),
                                 tokens(std::max(node.reach, node.end())), node.used, node.tick, node.uses});
}

bool Residency::wanted_below(NodeId id, TierId tier) const {
  const std::uint32_t reach = std::max(index_[id].reach, index_[id].end());
  for (auto below = static_cast<TierId>(tier + 1); below < tier_count_; ++below) {
    if (valuation_.admits(below, costs_.block_tokens() * static_cast<std::int64_t>(reach))) return true;
  }
  return false;
}

bool Residency::may_leave(NodeId id, TierId tier) const {
  const PrefixNode& node = index_[id];
  return (node.resident & bit(tier)) != 0 && !node.read_from(tier) && node.children_in[index_of(tier)] == 0;
}

// A node may leave a tier when no child of it is there; it is forgotten when no child is known at all.
void Residency::refresh(NodeId id) {
  if (id == kRoot) return;
  const PrefixNode& node = index_[id];
  for (TierId tier = 0; tier < tier_count_; ++tier) {
    if (may_leave(id, tier)) {
      order(tier).set(id, worth(id, tier));
    } else {
      order(tier).remove(id);
    }
  }
  if (node.present() == 0 && node.busy == 0 && node.first_child == kNoNode) {
    orders_of_[kForgotten].set(id, static_cast<double>(node.tick));
  } else {
    orders_of_[kForgotten].remove(id);
  }
}

void Residency::touch(std::span<const NodeId> path, Seconds now, bool asked, std::uint32_t reach) {
  ++tick_;
  for (const NodeId id : path) {
    PrefixNode& node = index_[id];
    node.tick = tick_;
    node.used = now;
    if (asked) node.uses = std::min(node.uses + 1, kUsesCounted);
    if (reach > 0) node.reach = reach;
    refresh(id);
  }
}

void Residency::seen(NodeId id, Seconds used) {
  PrefixNode& node = index_[id];
  node.tick = ++tick_;
  node.used = used;
  refresh(id);
}

void Residency::count_child(NodeId parent, TierMask before, TierMask after) {
  if (parent == kRoot || before == after) return;
  PrefixNode& node = index_[parent];
  for (TierId tier = 0; tier < tier_count_; ++tier) {
    std::uint32_t& children = node.children_in[index_of(tier)];
    if ((before & bit(tier)) != 0) --children;
    if ((after & bit(tier)) != 0) ++children;
  }
  // What is left of the chain is shorter once its back is nowhere.
  const bool bare = std::all_of(node.children_in.begin(), node.children_in.end(),
                                [](std::uint32_t children) { return children == 0; });
  if (bare && after == 0) node.reach = node.end();
  refresh(parent);
}

void Residency::change(NodeId id, TierMask resident, TierMask pending) {
  PrefixNode& node = index_[id];
  const TierMask before = node.present();
  node.resident = resident;
  node.pending = static_cast<TierMask>(pending & ~resident);
  const TierMask after = node.present();
  const Bytes bytes = costs_.block_bytes() * static_cast<std::int64_t>(node.count());
  for (TierId tier = 0; tier < tier_count_; ++tier) {
    Tier& own = tiers_[index_of(tier)];
    if ((before & bit(tier)) != 0) own.used -= bytes;
    if ((after & bit(tier)) != 0) own.used += bytes;
    FULCRUM_CHECK(own.used <= own.capacity, "a tier holds no more than its capacity");
  }
  if (before != 0) present_ -= node.count();
  if (after != 0) present_ += node.count();
  refresh(id);
  count_child(node.parent, before, after);
}

void Residency::hold(NodeId id, TierId source) {
  PrefixNode& node = index_[id];
  ++node.busy;
  if (source >= 0) ++node.readers[index_of(source)];
  refresh(id);
}

void Residency::release(NodeId id, TierId source) {
  PrefixNode& node = index_[id];
  FULCRUM_CHECK(node.busy > 0, "only what is held is released");
  --node.busy;
  if (source >= 0) --node.readers[index_of(source)];
  refresh(id);
}

void Residency::drop(NodeId id, TierId tier) {
  const PrefixNode& node = index_[id];
  FULCRUM_CHECK(!node.read_from(tier) && (node.resident & bit(tier)) != 0, "what is read is not dropped");
  orders_.erase(tier, id, node.count());
  tiers_[index_of(tier)].evicted += node.count();
  change(id, static_cast<TierMask>(node.resident & ~bit(tier)), node.pending);
  if (index_[id].present() == 0) drop_orphans(id);
}

// Blocks in use stay until their order is over; whoever ends it looks again.
void Residency::drop_orphans(NodeId parent) {
  stack_.clear();
  for (NodeId child = index_[parent].first_child; child != kNoNode; child = index_[child].next) {
    if (index_[child].present() != 0) stack_.push_back(child);
  }
  while (!stack_.empty()) {
    const NodeId id = stack_.back();
    stack_.pop_back();
    if (index_[id].busy != 0) continue;
    for (TierId tier = 0; tier < tier_count_; ++tier) {
      if ((index_[id].resident & bit(tier)) == 0) continue;
      orders_.erase(tier, id, index_[id].count());
      tiers_[index_of(tier)].evicted += index_[id].count();
    }
    change(id, 0, 0);
    for (NodeId child = index_[id].first_child; child != kNoNode; child = index_[child].next) {
      if (index_[child].present() != 0) stack_.push_back(child);
    }
  }
}

std::uint32_t Residency::free_blocks(TierId tier) const {
  const Tier& own = tiers_[index_of(tier)];
  return static_cast<std::uint32_t>((own.capacity - own.used).value() / costs_.block_bytes().value());
}

NodeId Residency::cut_back(NodeId node, std::uint32_t blocks) {
  const std::uint32_t count = index_[node].count();
  if (blocks < count) index_.split(node, count - blocks);
  return node;
}

std::uint32_t Residency::make_room(TierId tier, std::uint32_t wanted, double worth) {
  std::uint32_t room = free_blocks(tier);
  EvictionOrder& leaving = order(tier);
  while (room < wanted && !leaving.empty() && leaving.least_worth() < worth) {
    const NodeId victim = leaving.least();
    const std::uint32_t blocks = std::min(index_[victim].count(), wanted - room);
    const bool saved = index_[victim].present() != bit(tier);
    if (!saved && wanted_below(victim, tier)) tiers_[index_of(tier)].shed += blocks;
    drop(cut_back(victim, blocks), tier);
    room = free_blocks(tier);
  }
  return std::min(room, wanted);
}

void Residency::trim() {
  EvictionOrder& forgotten = orders_of_[kForgotten];
  while (index_.blocks() - present_ > forgotten_most_ && !forgotten.empty()) {
    const NodeId id = forgotten.least();
    const std::size_t excess = index_.blocks() - present_ - forgotten_most_;
    const auto blocks = static_cast<std::uint32_t>(std::min<std::size_t>(excess, index_[id].count()));
    const NodeId parent = index_[id].parent;
    const bool whole = blocks == index_[id].count();
    if (whole) forgotten.remove(id);
    index_.forget(id, blocks);
    if (whole) refresh(parent);
  }
}

Bytes Residency::memory() const {
  std::size_t bytes = 0;
  for (const EvictionOrder& lane : orders_of_) bytes += lane.bytes();
  return index_.memory() + Bytes(static_cast<std::int64_t>(bytes));
}

}  // namespace fulcrum
