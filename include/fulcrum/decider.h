// Decider: events in, plans and orders out. The same object drives the engine, the replayer and tests.
//
// Sans-I/O: it has no thread, no clock and no device; time enters as an argument and must not go
// backwards. Deterministic: equal inputs give equal outputs on every machine. Bounded: the index, the
// orders in flight and the gate's queue have limits, and the configured capacities hold at every moment,
// counting what is in flight.
//
// A life in events:
//   on_arrival    a request waits      -> preload orders, if reading ahead pays
//   on_schedule   it is about to run   -> the Plan, and load orders for its runs
//   on_computed   its KV is on the GPU -> write orders for what is worth holding
//   on_outcome    an order is over     -> what waited for it, demotions
// The host carries orders out in the order given. `load` brings blocks to the GPU; `preload` to the first
// tier; `write` copies from the GPU; `demote` copies down, and the source is erased by an order of its own;
// `erase` frees blocks at once and needs no outcome; `cancel` asks to stop the order of that number, whose
// outcome is then partial or cancelled; of an order that was held back by the gate it tells that it never
// comes, and nothing is to be answered. Blocks are given as chains: always from the first one on.
//
// Threads: one at a time; the caller serialises. Nothing here blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fulcrum/decision.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"

namespace fulcrum {

/// Blocks and bytes of one tier since the start.
struct TierCounters {
  Bytes used{};                      ///< resident and in flight
  Bytes read{};                      ///< ordered to be read for requests
  Bytes written{};                   ///< ordered to be written
  std::uint64_t evicted_blocks = 0;  ///< no longer held, demoted ones included
  std::uint64_t refused_blocks = 0;  ///< offered and not admitted
  int loads_in_flight = 0;
  int loads_queued = 0;  ///< held back by the gate
};

/// Consecutive blocks of one chain that a tier held when the process started.
struct FoundRun {
  BlockKey parent;          ///< key of the block before keys[0]; of no meaning where first is 0
  std::uint32_t first = 0;  ///< position of keys[0] in its chain, in blocks
  std::span<const BlockKey> keys;
  Seconds age{};  ///< since its last use
};

/// What is left of a tier's write limits; survives a restart.
struct WriteBudgetState {
  double left = 0;      ///< bytes of the bucket; may be negative
  double day_left = 0;  ///< bytes of the day's limit
};

class Decider {
 public:
  /// Kinds: mismatch (policy against profile), bad_input (no prefill profile; zero capacity).
  static Result<Decider> create(PolicyConfig policy, MachineProfile profile);

  Decider(Decider&&) noexcept;
  Decider& operator=(Decider&&) noexcept;
  ~Decider();

  /// A request entered the host's queue: orders preloads where policy allows. They count against the
  /// policy's preload_staging until on_schedule or on_cancel of that request; without either, until 10 s
  /// after its lead, of which no more than 10 min count. Called again, the time starts anew.
  void on_arrival(const Request& request, Seconds now);
  /// The request is about to run: decides, once. Load orders for the plan's runs are issued, or held back
  /// by the gate; blocks that another order is bringing already are shared (Run::order). The host waits at
  /// most Plan::stop_loss, then computes what has not arrived and calls on_cancel.
  [[nodiscard]] Plan on_schedule(const Request& request, Seconds now);
  /// Only the decision, without side effects and without allocation: what on_schedule would answer, with
  /// loads in flight as far as they were at the last event.
  [[nodiscard]] Plan plan(const Request& request, Seconds now) const;
  /// The GPU holds KV for these leading blocks of a chain now (computed or loaded): offers them.
  void on_computed(std::span<const BlockKey> blocks, Seconds now);
  /// An order finished, well or badly. Orders that are not in flight are ignored.
  void on_outcome(const Outcome& outcome, Seconds now);
  /// The request was dropped by the host, or gave its loads up: those that nobody else waits for end.
  void on_cancel(RequestId request, Seconds now);
  /// Time passed; lets deferred work (write-down within the write limits) move on.
  void on_time(Seconds now);
  /// The process is about to end: orders what is worth keeping and only the first tier, of memory, holds down
  /// by a demotion of at most `most` bytes, but one block at least. The most valuable goes first, a front
  /// before its back. Call it until nothing is left or the time is up; from the first call on nothing else
  /// moves down. Returns the bytes ordered; 0: the write limits allow none now; none: nothing is left.
  [[nodiscard]] std::optional<Bytes> on_close(Bytes most, Seconds now);

  /// What a tier holds at the start, in any order, before other events. A run hangs
  /// below its parent, wherever that is held, also by a tier that was restored before; whose parent is
  /// nowhere, or for whom there is no room, is refused. Returns the numbers of the refused runs, for the
  /// caller to erase, or to give again once another tier is restored.
  std::vector<std::size_t> restore(TierId tier, std::span<const FoundRun> runs, Seconds now);
  /// A tier gave these blocks up by itself. Unknown ones are ignored.
  void on_lost(TierId tier, std::span<const BlockKey> keys, Seconds now);
  /// What a tier can be used for from now on. One that cannot be read is not planned with, and its loads are
  /// called off; one that cannot be written gets no writes. What it holds stays known.
  void on_health(TierId tier, bool readable, bool writable, Seconds now);
  /// Loads from a tier take `factor` times as long as the profile says; 1: as measured. See model/drift.h.
  void on_speed(TierId tier, double factor, Seconds now);
  /// Worth of the last of these blocks in a tier, on the scale by which it evicts (log2); -infinity if
  /// unknown.
  [[nodiscard]] double worth(TierId tier, std::span<const BlockKey> blocks) const;
  [[nodiscard]] WriteBudgetState write_budget(TierId tier) const;
  /// `down`: how long the process did not run, as far as it is known; 0 is always safe.
  void restore_write_budget(TierId tier, const WriteBudgetState& state, Seconds down);

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
