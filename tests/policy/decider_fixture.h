// What the decider's tests share: a machine, policies, chains of keys, and a host that carries orders out and
// keeps its own books, so that the decider's are checked against something that it did not write itself.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fulcrum/decider.h"

namespace fulcrum::testing {

/// An 8B model on one H100, with host memory (50 GB/s, 0.5 ms), a drive (6 GB/s, 1 ms) and a disk (0.5 GB/s,
/// 30 ms). All numbers exact and good: what is predicted is what happens.
MachineProfile machine();

struct TierSize {
  const char* name;  ///< "dram", "nvme" or "hdd"
  std::int64_t blocks;
};
/// Blocks of 512 tokens, 64 MiB each.
PolicyConfig policy(Strategy strategy, const std::vector<TierSize>& tiers);
inline constexpr std::int64_t kBlockTokens = 512;
Bytes block_bytes();

/// A decider for them; the test fails if there is none.
Decider decider(const PolicyConfig& policy, const MachineProfile& profile = machine());

using Chain = std::vector<BlockKey>;
/// `blocks` keys behind `front`; other seeds, other keys.
Chain chain(std::uint32_t seed, std::size_t blocks, const Chain& front = {});

/// A request for all of a chain and `fresh` tokens more.
Request request(RequestId id, const Chain& blocks, std::int64_t fresh = 200);

/// Carries orders out. What each tier holds is learned from the orders alone.
class Host {
 public:
  explicit Host(Decider& decider) : decider_(decider), tiers_(decider.policy().tiers.size()) {}

  /// Takes the new orders and checks them; they stay open.
  void collect();
  /// Takes the new orders and finishes all open ones well, until there are none.
  void finish_all(Seconds now);
  /// Finishes one open order. `blocks` counts for partial and failed.
  void finish(OrderId order, OutcomeKind kind, std::uint32_t blocks, Seconds now);

  [[nodiscard]] const std::map<OrderId, Order>& open() const { return open_; }
  [[nodiscard]] const std::vector<Order>& history() const { return history_; }
  /// Number of orders of a kind so far.
  [[nodiscard]] std::size_t count(OrderKind kind) const;
  /// Blocks that a tier holds or is getting.
  [[nodiscard]] std::size_t blocks_in(TierId tier) const;
  [[nodiscard]] bool holds(TierId tier, const BlockKey& key) const;
  /// Orders that the decider asked to stop.
  [[nodiscard]] const std::set<OrderId>& called_off() const { return called_off_; }

 private:
  struct Books {
    std::map<BlockKey, int> held;  ///< copies there or on their way
  };
  void apply(const Order& order);

  Decider& decider_;
  std::vector<Books> tiers_;
  std::map<OrderId, Order> open_;
  std::vector<Order> history_;
  std::set<OrderId> called_off_;
};

}  // namespace fulcrum::testing
