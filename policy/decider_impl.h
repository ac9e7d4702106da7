// Decider::Impl: the parts of the decider and the events that move them.
//
// decider.cc holds the front door; decider_events.cc what requests cause; decider_host.cc what is told of
// tiers; decider_orders.cc how orders begin and end; decider_placement.cc what is written where;
// decider_close.cc what is saved before the end.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "fulcrum/decider.h"
#include "policy/costs.h"
#include "policy/orders.h"
#include "policy/planner.h"
#include "policy/prefix_index.h"
#include "policy/residency.h"
#include "policy/traffic.h"
#include "policy/valuation.h"
#include "policy/write_budget.h"

namespace fulcrum {

class Decider::Impl {
 public:
  Impl(PolicyConfig policy, MachineProfile profile);

  void on_arrival(const Request& request, Seconds now);
  Plan on_schedule(const Request& request, Seconds now);
  Plan plan(const Request& request, Seconds now) const;
  void on_computed(std::span<const BlockKey> blocks, Seconds now);
  void on_outcome(const Outcome& outcome, Seconds now);
  void on_cancel(RequestId request, Seconds now);
  void on_time(Seconds now);
  std::optional<Bytes> on_close(Bytes most, Seconds now);
  std::vector<std::size_t> restore(TierId tier, std::span<const FoundRun> runs, Seconds now);
  void on_lost(TierId tier, std::span<const BlockKey> keys, Seconds now);
  void on_health(TierId tier, bool readable, bool writable, Seconds now);
  void on_speed(TierId tier, double factor, Seconds now);
  [[nodiscard]] double worth(TierId tier, std::span<const BlockKey> blocks) const;
  [[nodiscard]] WriteBudgetState write_budget(TierId tier) const { return state(tier).budget.state(); }
  void restore_write_budget(TierId tier, const WriteBudgetState& saved, Seconds down) {
    state(tier).budget.restore(saved, down);
  }
  std::vector<Order> take_orders() { return orders_.take(); }

  [[nodiscard]] TierCounters counters(TierId tier) const;
  [[nodiscard]] std::size_t resident_blocks(std::span<const BlockKey> blocks, TierId tier) const;
  [[nodiscard]] std::size_t indexed_blocks() const { return index_.blocks(); }
  [[nodiscard]] Bytes index_memory() const { return residency_.memory(); }
  [[nodiscard]] const PolicyConfig& policy() const { return policy_; }
  [[nodiscard]] const MachineProfile& profile() const { return profile_; }

 private:
  static constexpr Bytes kEndless{std::int64_t{1} << 62};
  struct TierState {
    WriteBudget budget;
    Bytes leaving{};  ///< bytes that demotions in flight will free
    Bytes coming{};   ///< bytes that demotions in flight bring
    Bytes coming_most = kEndless;
    Bytes offered{};  ///< largest recent offer: it fades with every further one
    Bytes shed{};     ///< lost lately for want of room: likewise
    Bytes read{};
    Bytes written{};
    std::uint64_t refused = 0;  ///< blocks
  };
  /// What was read ahead for a request that has not run yet.
  struct Staged {
    Bytes bytes{};
    std::vector<OrderId> orders;
    Seconds until{};  ///< when the request is not expected any more
  };

  class Restoration;

  void advance(Seconds now);
  [[nodiscard]] TierState& state(TierId tier) { return states_[index_of(tier)]; }
  [[nodiscard]] const TierState& state(TierId tier) const { return states_[index_of(tier)]; }
  [[nodiscard]] Bytes bytes(std::uint32_t blocks) const {
    return costs_.block_bytes() * static_cast<std::int64_t>(blocks);
  }

  // Requests
  void stage(const Request& request, const Run& run, const Alternative& chosen);
  [[nodiscard]] std::uint32_t stageable(std::span<const BlockKey> blocks, const Run& run) const;
  void unstage(RequestId request);
  void expect(Staged& staged, Seconds lead);
  void expire_hints();
  void wait_for(RequestId request, OrderId order);

  // Orders
  OrderId begin(Flight flight);
  OrderId begin_load(const Request& request, const Run& run, double saved_per_byte, OrderKind kind);
  void pump(TierId tier);
  void abandon(OrderId order);
  void end(OrderId order, OutcomeKind kind, std::uint32_t done);
  void settle(const Flight& flight, OrderId order, NodeId node, OutcomeKind kind, bool arrived);
  void finish_demotion(const Flight& flight, NodeId node);
  [[nodiscard]] std::vector<NodeId> nodes_of(const Flight& flight) const;
  [[nodiscard]] NodeId node_ending(std::span<const BlockKey> blocks, std::uint32_t end);

  // Host
  template <class Gone>
  void lose(TierId tier, NodeId node, Gone gone);
  [[nodiscard]] bool writable(TierId tier) const { return (writable_ & bit(tier)) != 0; }

  // Placement
  void admit(std::span<const BlockKey> blocks, TierId tier);
  std::uint32_t admit_node(NodeId node, TierId tier, std::uint32_t most);
  void write(NodeId last, std::uint32_t blocks, TierId tier);
  void write_down(TierId tier);
  bool leave(NodeId node, TierId tier, Bytes lacking);
  [[nodiscard]] bool waits(TierId tier) const;
  [[nodiscard]] bool bears(NodeId node) const;
  [[nodiscard]] Bytes not_carried(TierId tier, Bytes lacking) const;
  bool demote(NodeId node, TierId from, TierId to);
  void order_demotion(NodeId node, TierId from, TierId to);
  void tidy(std::span<const BlockKey> blocks);
  void note_offer(TierId tier, std::uint32_t blocks);
  [[nodiscard]] Bytes reserve(TierId tier) const;
  [[nodiscard]] bool orphan(NodeId node) const;

  // Close
  void list_parting();
  std::optional<Bytes> part_with(NodeId node, Bytes most);
  Bytes part_with(NodeId node, TierId below, Bytes most);
  [[nodiscard]] bool only_in_memory(NodeId node) const;
  [[nodiscard]] bool wants(TierId tier, NodeId node) const;

  PolicyConfig policy_;
  MachineProfile profile_;
  Costs costs_;
  std::unique_ptr<Valuation> valuation_;
  PrefixIndex index_;
  Orders orders_;
  Residency residency_;
  Traffic traffic_;
  Planner planner_;
  bool memory_first_;  ///< what the first tier holds does not outlive the process
  bool preloads_;
  std::array<TierState, kMaxTiers> states_{};
  std::map<RequestId, Staged> staged_;
  Bytes staged_bytes_{};
  Seconds hints_end_{std::numeric_limits<double>::infinity()};  ///< no hint expires before
  /// Once the process is about to end: what moves down yet, the most valuable last.
  std::optional<std::vector<NodeId>> parting_;
  TierMask writable_ = 0xFF;
  Seconds now_{};
  std::vector<NodeId> path_;     ///< scratch
  std::vector<NodeId> skipped_;  ///< scratch
};

}  // namespace fulcrum
