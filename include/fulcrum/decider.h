// Decider: events in, plans and orders out. The same object drives the engine, the replayer and tests.
//
// Sans-I/O: it has no thread, no clock and no device; time enters as an argument and must not go
// backwards. Deterministic: equal inputs give equal outputs on every machine. Bounded: the index, the
// orders in flight and the gate's queue have limits, and the configured capacities hold at every moment,
// counting what is in flight.
//
// Threads: one at a time; the caller serialises. Nothing here blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "fulcrum/decision.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"

namespace fulcrum {

/// Seconds and bytes by tier since the start. Monotone.
struct TierCounters {
  Bytes used{};     ///< resident and in flight
  Bytes read{};     ///< ordered to be read
  Bytes written{};  ///< ordered to be written
  std::uint64_t evicted_blocks = 0;
  std::uint64_t refused_blocks = 0;  ///< not admitted
  int loads_in_flight = 0;
  int loads_queued = 0;  ///< held back by the gate
};

class Decider {
 public:
  /// Kinds: mismatch (policy against profile), bad_input (no prefill profile; zero capacity).
  static Result<Decider> create(PolicyConfig policy, MachineProfile profile);

  Decider(Decider&&) noexcept;
  Decider& operator=(Decider&&) noexcept;
  ~Decider();

  /// A request entered the host's queue: orders preloads where policy allows. The plan is provisional.
  void on_arrival(const Request& request, Seconds now);
  /// The request is about to run: decides. Load orders for the plan's runs are appended to orders().
  /// Allocates nothing beyond those orders.
  [[nodiscard]] Plan on_schedule(const Request& request, Seconds now);
  /// Only the decision, without side effects: what on_schedule would answer now.
  [[nodiscard]] Plan plan(const Request& request, Seconds now) const;
  /// The GPU holds KV for these leading blocks of a chain now (computed or loaded): offers them.
  void on_computed(std::span<const BlockKey> blocks, Seconds now);
  /// An order finished, well or badly.
  void on_outcome(const Outcome& outcome, Seconds now);
  /// The request was dropped by the host: its loads are cancelled.
  void on_cancel(RequestId request, Seconds now);
  /// Time passed; lets deferred work (gate, write-back) move on.
  void on_time(Seconds now);

  /// Orders issued since the last call. The caller carries them out and answers with on_outcome.
  [[nodiscard]] std::vector<Order> take_orders();

  [[nodiscard]] TierCounters counters(TierId tier) const;
  [[nodiscard]] std::size_t indexed_blocks() const;
  [[nodiscard]] Bytes index_memory() const;
  /// Blocks of this chain that `tier` holds as a leading run.
  [[nodiscard]] std::size_t resident_blocks(std::span<const BlockKey> blocks, TierId tier) const;
  [[nodiscard]] const PolicyConfig& policy() const;
  [[nodiscard]] const MachineProfile& profile() const;

 private:
  class Impl;
  explicit Decider(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fulcrum
