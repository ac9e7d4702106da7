// EngineCore: the engine without threads, clocks and devices of its own. Carries the decider's orders to
// tiers and the outcomes back.
//
//   host calls ──> core ──> decider ──> orders ──> ports (tiers), copier ──> news ──> core ──> loads,
//   outcomes
//
// core_restore.cc begins; core.cc holds what happened and the passing of time; core_load.cc what the host
// calls, and loads; core_fetch.cc reads; core_store.cc writes; core_close.cc ends it all; core_health.cc what
// tiers are still good for. The shell (engine.cc) gives it threads; the simulation of the tests drives it by
// hand with the same code.
//
// A fetch is one order to read, or what a load reads besides: a run of blocks that comes in jobs of bounded
// size, into staging rows or into the DRAM tier. Loads follow fetches; several may follow one
// (single-flight). Rows of a job that outlives its loads stay with it until the tier gives them back (limbo).
//
// Threads: one at a time. Time is an argument and does not go backwards.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/copier.h"
#include "engine/load_state.h"
#include "engine/port.h"
#include "engine/staging.h"
#include "fulcrum/decider.h"
#include "fulcrum/engine.h"
#include "model/drift.h"
#include "tiers/dram_tier.h"

namespace fulcrum::engine {

/// What the core works with. One entry in `ports` a tier of the policy; null for the tier of memory.
struct CoreParts {
  std::shared_ptr<RowPool> pool;
  std::unique_ptr<DramTier> dram;  ///< the policy's first tier, or null where that is another
  std::size_t staging_rows = 0;
  Bytes row_bytes{};
  BlockKey root;  ///< of the namespace
  Copier* copier = nullptr;
  std::function<void(std::function<void()>)> on_engine;  ///< runs a callback, not before the call returns
  std::function<void(LoadId)> on_released;               ///< leads to released()
  std::function<void(LoadId)> on_dropped;                ///< leads to dropped()
  std::function<void(std::uint64_t)> on_copied;          ///< leads to copied()
  std::function<void(std::string)> on_decision;          ///< gets a line for the decision log; may be empty
};

class EngineCore {
 public:
  EngineCore(Decider decider, CoreParts parts);
  ~EngineCore();

  /// Before step() and all else: gives a tier that is not memory its port, and tells what it holds.
  void attach(TierId tier, std::unique_ptr<TierPort> port, std::string io, TierStatus status);
  void restore(TierId tier, std::span<const StoredRun> found, Seconds now);
  /// What was written to a tier today, before this start, counts against its limits.
  void restore_budget(TierId tier, Bytes written_today);

  // What the host calls, without the mistakes that host_mistakes.h finds.
  [[nodiscard]] Plan plan(const Request& request, Seconds now) const;
  void hint(const Request& request, Seconds now);
  [[nodiscard]] std::shared_ptr<LoadState> load(const Request& request, LoadOptions options, Seconds now);
  void store(StoreRequest request, Seconds now);
  void cancel(RequestId request, Seconds now);
  /// The same with such a mistake: the host computes all, and status() says `what` was wrong.
  [[nodiscard]] std::shared_ptr<LoadState> load_mistaken(const Request& request, LoadOptions options,
                                                         std::string_view what);
  void note_mistake(std::string_view what);

  // What happened.
  void news(TierId tier, PortNews news, Seconds now);
  void copied(std::uint64_t copy, Seconds now);
  void released(Seconds now);
  void dropped(LoadId load, Seconds now);
  /// Time passed. Call it at next_step() at the latest.
  void step(Seconds now);
  [[nodiscard]] Seconds next_step() const;

  /// Ends loads and takes nothing new: no copy begins from here on. Writes down what only memory holds, so
  /// that it is over within `limit`. quiet() once nothing is under way. Called again, the new limit counts.
  void begin_close(Seconds now, Seconds limit);
  [[nodiscard]] bool closing() const { return closing_; }
  [[nodiscard]] bool quiet() const;
  /// Closes the ports, at most so long for all of them. False where a device keeps something.
  bool close_ports(Seconds limit);

  [[nodiscard]] EngineStatus status() const;
  [[nodiscard]] const Decider& decider() const { return decider_; }

 private:
  using FetchId = std::uint64_t;
  using StoreId = std::uint64_t;
  struct TierState {
    std::string name;
    std::string io;
    std::unique_ptr<TierPort> port;
    TierStatus status;
    TierTally tally;
    std::size_t jobs = 0;   ///< in flight
    Seconds last_event{};   ///< or when the first of its jobs in flight was given
    bool stalled = false;   ///< it has jobs and does not move
    bool given_up = false;  ///< it holds more rows than it may
    bool readable = true;   ///< as the decider was told
    bool writable = true;
    Bytes limbo{};
    Drift drift;
    double slowdown = 1;
    std::uint64_t fetches = 0;   ///< in flight
    std::size_t rows_asked = 0;  ///< of the fetches' jobs in flight, those in limbo aside
  };
  /// Blocks of a load that a fetch brings, by their position in the chain.
  struct Follower {
    LoadId load = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  struct Fetch {
    OrderId order = 0;  ///< 0: for one load only, unknown to the decider
    TierId source = kNowhere;
    bool into_dram = false;
    BlockKey parent;
    std::uint32_t first = 0;
    std::vector<BlockKey> keys;
    double worth = 0;
    std::vector<Follower> followers;
    std::vector<Lease> kept;    ///< what came, for loads that follow late; empty for long fetches
    std::uint32_t asked = 0;    ///< leading blocks that jobs were given for
    std::uint32_t arrived = 0;  ///< leading blocks that are here
    std::vector<bool> here;
    std::uint32_t limit = 0;  ///< no more than these are asked for: all, until something went wrong
    bool queued = false;      ///< it waits for its turn
    bool called_off = false;
    bool starved = false;                 ///< it had to wait for rows: its time says nothing of the tier
    bool failed = false;                  ///< the tier does not have the block behind `arrived`
    std::map<std::uint32_t, JobId> jobs;  ///< by their first block
    Seconds started{};
    std::uint64_t beside = 0;  ///< fetches of the tier in flight when it started
  };
  struct ReadJob {
    FetchId fetch = 0;
    std::uint32_t from = 0;
    std::uint32_t arrived = 0;
    std::vector<StagedRow> staged;
    std::vector<Row> reserved;
    std::size_t blocks = 0;
    bool in_limbo = false;
  };
  /// Blocks on their way into a tier that is not memory; `rows` keeps their bytes.
  struct WriteJob {
    OrderId order = 0;
    std::vector<Lease> rows;
    std::uint32_t ordered = 0;
  };
  /// Blocks between two tiers that are not memory: read first, then written.
  struct Relay {
    Order order;
    std::vector<StagedRow> rows;
  };
  struct Job {
    TierId tier = kNowhere;
    std::optional<ReadJob> read;
    std::optional<WriteJob> write;
    std::optional<Relay> relay;
    Seconds given{};
  };
  struct LoadRecord {
    std::shared_ptr<LoadState> state;
    RequestId request = 0;
    std::vector<BlockKey> keys;  ///< of the load's blocks
    BlockKey parent;
    Seconds deadline{};
  };
  struct StoreRecord {
    StoreRequest request;
    std::uint32_t copies = 0;  ///< running
    std::uint32_t kept = 0;
  };
  /// An outcome that is told with the next tick.
  struct Late {
    OrderId order = 0;
    OutcomeKind kind = OutcomeKind::cancelled;
    std::uint32_t blocks = 0;
    Seconds elapsed{};
  };
  /// Rows being copied: from the host on their way in, or to the host.
  struct CopyRecord {
    StoreId store = 0;
    Order order;
    std::vector<Row> reserved;
    std::vector<StagedRow> staged;
    LoadId load = 0;
    std::shared_ptr<LoadState> state;
    std::vector<Lease> leases;
  };

  // core_restore.cc
  [[nodiscard]] std::vector<StoredRun> place(TierId id, std::span<const StoredRun> found);
  void erase_unplaced();

  // core_load.cc
  [[nodiscard]] std::shared_ptr<LoadState> load_nothing(const Plan& plan, LoadOptions options, LoadEnd end);
  void reap(Seconds now);
  void copy_out(LoadRecord& record);
  std::uint64_t begin_copy(CopyRecord record, std::vector<RowCopy> rows);

  // core.cc
  void carry_out(Seconds now);
  void carry_out(Order& order, Seconds now);
  void answer(OrderId order, OutcomeKind kind, std::uint32_t blocks, Seconds started, Seconds now);
  void settle(Seconds now);
  [[nodiscard]] TierState& tier(TierId id) { return tiers_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool memory(TierId id) const { return id == 0 && dram_ != nullptr; }
  JobId begin_job(TierId id, Job job, Seconds now);

  // core_fetch.cc
  void serve_from_memory(const Order& order, Seconds now);
  FetchId begin_fetch(Fetch fetch, Seconds now);
  void fetch_for(const Follower& follower, TierId source, Seconds now);
  void follow(OrderId order, const Follower& follower, Seconds now);
  void catch_up(Fetch& fetch, const Follower& follower);
  [[nodiscard]] std::uint32_t rows_at_once(const TierState& source) const;
  void queue(FetchId id);
  void pump(FetchId id, Seconds now);
  void on_read(Job& job, const TierEvent& event, Seconds now);
  void arrive(Fetch& fetch, ReadJob& job, std::uint32_t blocks);
  void deliver(const Fetch& fetch, std::uint32_t block, const Lease& row);
  void call_off(FetchId id, Seconds now);
  void stop(const std::vector<Follower>& followers);
  void end_if_over(FetchId id, Seconds now);
  void unfollow(LoadId load, Seconds now);

  // core_store.cc
  void take_in(const Order& order, Seconds now);
  void taken_in(CopyRecord& copy, Seconds now);
  void demote(const Order& order, Seconds now);
  void write_out(const Order& order, std::vector<Lease> rows, Seconds now);
  void on_write(Job& job, const TierEvent& event, Seconds now);
  void on_relay(Job& job, const TierEvent& event, Seconds now);
  void finish_store(StoreId id);

  // core_close.cc
  void part(Seconds now);
  [[nodiscard]] BytesPerSecond parting_rate() const;

  // core_health.cc
  void watch(Seconds now);
  void tell_health(TierId id, Seconds now);
  void observe(const Fetch& fetch, Seconds now);
  void tell_speed(TierId id, Seconds now);
  void count_limbo(Job& job);
  void stop_loads_from(TierId id);

  Decider decider_;
  CoreParts parts_;
  std::unique_ptr<DramTier> dram_;
  Staging staging_;
  std::shared_ptr<const LoadHooks> hooks_;
  std::vector<TierState> tiers_;
  std::unordered_map<LoadId, LoadRecord> loads_;
  std::map<FetchId, Fetch> fetches_;
  std::unordered_map<OrderId, FetchId> fetch_of_;
  std::unordered_map<OrderId, std::vector<Follower>> expected_;  ///< orders that are still behind the gate
  std::deque<FetchId> starved_;  ///< fetches that wait for rows, or for their turn
  std::map<JobId, Job> jobs_;
  std::unordered_map<StoreId, StoreRecord> stores_;
  std::unordered_map<std::uint64_t, CopyRecord> copies_;
  std::vector<Late> later_;
  std::map<TierId, std::vector<StoredRun>> unplaced_;  ///< found, and without a place so far
  StoreId storing_ = 0;                                ///< the store whose orders are being carried out
  std::uint64_t next_ = 1;
  Seconds now_{};
  Seconds next_tick_{};
  Seconds active_{};  ///< when something was asked last
  Bytes writing_{};   ///< rows of writes under way
  bool closing_ = false;
  std::uint64_t mistakes_ = 0;  ///< requests that could not be planned
  std::string_view last_mistake_;
  bool parting_ = false;  ///< what only memory holds is being written down before the end
  Seconds close_at_{};
  EngineStatus counts_;
};

}  // namespace fulcrum::engine
