// Decider: what the machine says of its tiers: what they held at the start, what they lost, what they are
// good for.
#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "policy/decider_impl.h"

namespace fulcrum {
namespace {

struct KeyHash {
  std::size_t operator()(const BlockKey& key) const { return static_cast<std::size_t>(key.low); }
};
using KeySet = std::unordered_set<BlockKey, KeyHash>;

}  // namespace

/// Hangs runs that a tier was found to hold into the index, front of the chains first.
class Decider::Impl::Restoration {
 public:
  Restoration(Impl& decider, TierId tier, std::span<const FoundRun> runs)
      : decider_(decider), index_(decider.index_), tier_(tier), runs_(runs), refused_(runs.size(), false) {}

  std::vector<std::size_t> run(Seconds now) {
    fit();
    for (const FoundRun& found : runs_) {
      if (found.first > 0) parents_.insert(found.parent);
    }
    cut_known();
    std::vector<std::size_t> order(runs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return runs_[i].first; });
    for (const std::size_t i : order) {
      if (!refused_[i]) refused_[i] = !hang(i);
    }
    std::ranges::stable_sort(nodes_, std::greater<>{}, [](const Hung& hung) { return hung.age; });
    for (const Hung& hung : nodes_) decider_.residency_.seen(hung.node, now - hung.age);
    reach_back();
    std::vector<std::size_t> refused;
    for (std::size_t i = 0; i < refused_.size(); ++i) {
      if (refused_[i]) refused.push_back(i);
    }
    return refused;
  }

 private:
  struct Hung {
    NodeId node = kNoNode;
    Seconds age{};
  };

  /// Refuses the longest unused where the tier has no room for all.
  void fit() {
    const std::int64_t block = decider_.costs_.block_bytes().value();
    const Residency::Tier& own = decider_.residency_.tier(tier_);
    std::int64_t room = (own.capacity - own.used).value() / block;
    std::vector<std::size_t> youngest(runs_.size());
    std::iota(youngest.begin(), youngest.end(), std::size_t{0});
    std::ranges::stable_sort(youngest, {}, [&](std::size_t i) { return runs_[i].age; });
    for (const std::size_t i : youngest) {
      const auto blocks = static_cast<std::int64_t>(runs_[i].keys.size());
      refused_[i] = blocks == 0 || blocks > room;
      if (!refused_[i]) room -= blocks;
    }
  }

  /// Makes every known block that a run hangs below the last one of its node.
  void cut_known() {
    index_.each([&](NodeId id) {
      for (std::uint32_t at = 1; at < index_[id].count();) {
        if (!parents_.contains(index_[id].keys[at - 1])) {
          ++at;
          continue;
        }
        const NodeId front = index_.split(id, at);
        decider_.residency_.refresh(front);
        decider_.residency_.refresh(id);
        ends_.emplace(index_[front].keys.back(), front);
        at = 1;
      }
      if (parents_.contains(index_[id].keys.back())) ends_.emplace(index_[id].keys.back(), id);
    });
  }

  bool hang(std::size_t i) {
    const FoundRun& found = runs_[i];
    NodeId parent = kRoot;
    if (found.first > 0) {
      const auto above = ends_.find(found.parent);
      const bool usable = above != ends_.end() && index_[above->second].present() != 0 &&
                          index_[above->second].end() == found.first;
      if (!usable) return false;
      parent = above->second;
    }
    for (std::size_t at = 0; at < found.keys.size();) {
      std::size_t end = at + 1;  // a node ends where another run hangs
      while (end < found.keys.size() && !parents_.contains(found.keys[end - 1])) ++end;
      const std::uint32_t taken = add(parent, found.keys.subspan(at, end - at), found.age, parent);
      if (taken == 0) return at > 0;
      at += taken;
    }
    return true;
  }

  /// Leading keys below a node: known already, or new. `last` is the node that they end with.
  std::uint32_t add(NodeId parent, std::span<const BlockKey> keys, Seconds age, NodeId& last) {
    NodeId node = index_.find_head(keys.front());
    auto taken = static_cast<std::uint32_t>(keys.size());
    if (node == kNoNode) {
      node = index_.append(parent, keys);
    } else {
      if (index_[node].parent != parent) return 0;
      taken = 0;
      while (taken < keys.size() && taken < index_[node].count() && index_[node].keys[taken] == keys[taken]) {
        ++taken;
      }
      if (taken < index_[node].count()) node = index_.split(node, taken);
    }
    const PrefixNode& own = index_[node];
    if (own.in(tier_)) return 0;
    decider_.residency_.change(node, static_cast<TierMask>(own.resident | bit(tier_)), own.pending);
    if (parents_.contains(index_[node].keys.back())) ends_.emplace(index_[node].keys.back(), node);
    nodes_.push_back({node, age});
    last = node;
    return taken;
  }

  /// How far each chain goes on behind a node: what is worth most is the front of long chains.
  void reach_back() {
    std::ranges::stable_sort(nodes_, std::greater<>{},
                             [&](const Hung& hung) { return index_[hung.node].start; });
    for (const Hung& hung : nodes_) {
      PrefixNode& node = index_[hung.node];
      node.reach = std::max(node.reach, node.end());
      if (node.parent != kRoot) {
        index_[node.parent].reach = std::max(index_[node.parent].reach, node.reach);
      }
      decider_.residency_.refresh(hung.node);
    }
  }

  Impl& decider_;
  PrefixIndex& index_;
  TierId tier_;
  std::span<const FoundRun> runs_;
  std::vector<bool> refused_;
  KeySet parents_;                                      ///< keys that runs hang below
  std::unordered_map<BlockKey, NodeId, KeyHash> ends_;  ///< of these, the node that each is the last one of
  std::vector<Hung> nodes_;
};

std::vector<std::size_t> Decider::Impl::restore(TierId tier, std::span<const FoundRun> runs, Seconds now) {
  advance(now);
  std::vector<std::size_t> refused = Restoration(*this, tier, runs).run(now);
  residency_.trim();
  return refused;
}

// Tiers lose runs: what stands in a node that was found needs no search of its own.
void Decider::Impl::on_lost(TierId tier, std::span<const BlockKey> keys, Seconds now) {
  advance(now);
  const KeySet lost(keys.begin(), keys.end());
  KeySet found;
  std::vector<NodeId> holders;
  for (const BlockKey& key : keys) {
    if (found.contains(key)) continue;
    holders.clear();
    index_.find_holders(key, holders);
    for (const NodeId id : holders) {
      for (const BlockKey& other : index_[id].keys) {
        if (lost.contains(other)) found.insert(other);
      }
    }
    for (const NodeId id : holders) lose(tier, id, [&](const BlockKey& one) { return lost.contains(one); });
  }
  residency_.trim();
}

// What is being read there is dropped when the read has failed.
template <class Gone>
void Decider::Impl::lose(TierId tier, NodeId id, Gone gone) {
  for (;;) {
    const PrefixNode& node = index_[id];
    if ((node.resident & bit(tier)) == 0 || node.read_from(tier)) return;
    const auto first = std::ranges::find_if(node.keys, gone);
    if (first == node.keys.end()) return;
    const auto end = std::find_if_not(first, node.keys.end(), gone);
    const auto before = static_cast<std::uint32_t>(first - node.keys.begin());
    const auto count = static_cast<std::uint32_t>(end - first);
    const bool last = end == node.keys.end();
    if (before > 0) residency_.refresh(index_.split(id, before));  // the back keeps the number
    NodeId out = id;
    if (!last) out = index_.split(id, count);
    residency_.refresh(id);
    residency_.drop(out, tier);
    if (last) return;
  }
}

void Decider::Impl::on_health(TierId tier, bool readable, bool writable, Seconds now) {
  advance(now);
  writable_ = static_cast<TierMask>(writable ? writable_ | bit(tier) : writable_ & ~bit(tier));
  traffic_.set_open(tier, readable);
  if (readable) {
    pump(tier);
    return;
  }
  std::vector<OrderId> reads;
  for (const auto& [id, flight] : orders_.flights()) {
    const bool read = flight.kind == OrderKind::load || flight.kind == OrderKind::preload;
    if (read && flight.source == tier && !flight.called_off) reads.push_back(id);
  }
  for (const OrderId id : reads) abandon(id);
}

void Decider::Impl::on_speed(TierId tier, double factor, Seconds now) {
  FULCRUM_CHECK(factor > 0, "a factor of time");
  advance(now);
  costs_.set_speed(tier, factor);
}

double Decider::Impl::worth(TierId tier, std::span<const BlockKey> blocks) const {
  double worth = -std::numeric_limits<double>::infinity();
  std::size_t known = 0;
  index_.walk(blocks, [&](NodeId id, std::uint32_t matched) {
    known += matched;
    if (known == blocks.size()) worth = residency_.worth(id, tier);
    return true;
  });
  return worth;
}

}  // namespace fulcrum
