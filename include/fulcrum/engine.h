// Engine: carries decisions out on real bytes. The one object that a cache backend embeds.
//
//   open     policy + machine profile + identity of the bytes -> an engine on this machine's tiers
//   store    the host computed KV for a chain: offers the rows; the engine copies what it wants to keep
//   hint     a request waits in the host's queue: reading ahead may start
//   plan     what would be done, without doing it
//   load     the request runs: decides, and brings the plan's blocks; they become readable front to back
//   cancel   the request is gone
//   close    writes down what makes the next start quick, within a limit
//
// What the engine promises: bytes that a Load shows are the bytes that were stored under that key, or they
// are not shown. A load ends by its deadline, with what arrived: the rest is the host's to compute. store()
// and hint() never wait for a device. Configured capacities hold at every moment. A tier's failure disables
// that tier; status() says why. Nothing here throws. Out of memory: open() ends with kind no_memory and
// leaves nothing behind, store() refuses, status() is empty; anywhere else the process stops with a message,
// since what was half done can not be gone on with. What the file tiers hold is then as safe as after kill
// -9.
//
// Blocks: a row is all bytes of one block, `row_bytes` of them; the engine never interprets them. Chains are
// always given from their first block on, each key made from the one before it. A chain that begins in the
// middle of one that is known is another chain.
//
// Requests: ids of requests that are alive at the same time are different. A hint is followed by load() or
// cancel() with its id, which give back what is read ahead for it; so does time, 10 s after the hint's lead
// (of which 10 min count at most). Hinting again renews it. A request that can not be planned (no
// positive prompt, a negative number of resident tokens, a key twice, numbers that are none, a null row in
// `into`) is answered as if nothing were known: compute it all. status() says what was wrong.
//
// Threads: every method may be called from any thread. One engine thread decides and runs all callbacks, one
// at a time, also before the call that they belong to has returned; each file tier has a thread of its own,
// copies have `copy_threads`. Callbacks must not block and may call the engine and drop any Load, but not
// close() or destroy the engine. plan(), hint() and load() take the engine's lock for microseconds; store()
// and cancel() only a queue's. Host objects that a callback captures are destroyed without any lock of the
// engine, by the engine thread behind the last call or by whoever drops the Load.
//
// Lifetimes: a Load stays good after the engine is closed and gone. Rows that were given to store() must stay
// unchanged until its on_done, which comes exactly once for each store() that was not refused; rows of `into`
// must stay until the load has ended or is dropped. All callbacks have come by the time close() returns,
// those of calls that were made later by the time the engine is destroyed; none comes afterwards.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fulcrum/decider.h"
#include "fulcrum/decision.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

struct EngineOptions {
  Namespace name{};  ///< whose bytes these are: a tier of other bytes is never served
  PolicyConfig policy{};
  MachineProfile profile{};
  Bytes row_bytes{};  ///< of a block; 0: the profile's KV bytes per token times block_tokens
  /// File that gets a line for each decision (fulcrum explain), moments later; empty: none. A disk that does
  /// not take them costs lines, never time: status() tells.
  std::string decision_log{};
  bool other_machine = false;  ///< run although the profile was measured elsewhere
};

enum class LoadEnd : std::uint8_t {
  running,
  complete,   ///< all blocks of the plan are readable
  stopped,    ///< the deadline passed, or the tier had less than it promised: what is readable is a prefix
  cancelled,  ///< by cancel(), or the engine closed
};
[[nodiscard]] std::string_view to_string(LoadEnd end);

struct LoadProgress {
  std::uint32_t ready = 0;  ///< blocks of the plan's loads that can be read, front to back
  LoadEnd end = LoadEnd::running;
};

struct LoadOptions {
  /// Most that it may take; what is not positive: the policy's. The plan's stop-loss binds as well.
  Seconds deadline{0};
  /// Rows of the host for the blocks behind the resident ones, front to back: blocks count as ready once they
  /// are copied there, and no more than there are rows for are planned and read. Empty: blocks are read in
  /// place, by row().
  std::vector<std::byte*> into{};
  /// On the engine thread: after blocks became ready, and exactly once, the last time, with the end; also for
  /// a plan that loads nothing. Steps that follow each other quickly may be told in one call.
  std::function<void(const LoadProgress&)> on_progress{};
};

/// A load on its way, and the rows that it brought. Destroying it gives it up and releases its rows: on any
/// thread and at any moment, inside of a callback too. Afterwards nothing is written to `into`, and
/// on_progress does not come. For this it waits, where a part is just being copied to `into`, for that part,
/// and where its own on_progress runs on another thread, for that call: so hold no lock that on_progress
/// takes. Who waits in until() is resumed with the end; who waits in wait() must hold the Load meanwhile.
class Load {
 public:
  virtual ~Load() = default;
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  [[nodiscard]] virtual const Plan& plan() const = 0;
  /// Position in the chain of the first block that this load brings, and how many it is to bring.
  [[nodiscard]] virtual std::uint32_t first() const = 0;
  [[nodiscard]] virtual std::uint32_t count() const = 0;
  [[nodiscard]] virtual LoadProgress progress() const = 0;
  /// The bytes of the i-th block of this load, i < progress().ready, not released. Without `into` only.
  [[nodiscard]] virtual std::span<const std::byte> row(std::uint32_t i) const = 0;
  /// The host is done with the first `blocks` blocks: their memory serves what has not arrived. A load that
  /// is larger than the policy's staging needs this to go on.
  virtual void release(std::uint32_t blocks) = 0;
  /// Waits until `blocks` blocks are ready or the load has ended. Not from a callback.
  virtual LoadProgress wait(std::uint32_t blocks) = 0;
  LoadProgress wait() { return wait(count()); }

  /// `co_await load->until(blocks)`: as wait(), resumes on the engine thread.
  class Until;
  [[nodiscard]] Until until(std::uint32_t blocks);

 protected:
  Load() = default;
  friend class Until;
  /// Calls `resume` once, when `blocks` are ready or the load has ended. False where that is so already.
  virtual bool when(std::uint32_t blocks, std::function<void()> resume) = 0;
  /// What stays for those who wait when the host has dropped the load.
  virtual std::shared_ptr<Load> self() = 0;
};

class Load::Until {
 public:
  Until(Load& load, std::uint32_t blocks) : load_(load.self()), blocks_(blocks) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    return load_->when(blocks_, [handle] { handle.resume(); });
  }
  [[nodiscard]] LoadProgress await_resume() const { return load_->progress(); }

 private:
  std::shared_ptr<Load> load_;
  std::uint32_t blocks_;
};

inline Load::Until Load::until(std::uint32_t blocks) {
  return {*this, blocks};
}

struct StoreOutcome {
  std::uint32_t offered = 0;
  std::uint32_t kept = 0;  ///< blocks that can be loaded now and that could not before
};

struct StoreRequest {
  std::vector<BlockKey> chain{};         ///< from the first block on
  std::uint32_t first = 0;               ///< rows are given for chain[first], chain[first+1], ...
  std::vector<const std::byte*> rows{};  ///< chain.size() - first of them
  std::function<void(const StoreOutcome&)>
      on_done{};  ///< on the engine thread: the rows are the host's again
};

/// One tier as it is now.
struct EngineTier {
  std::string name;
  std::string health;  ///< "healthy", "degraded", "disabled", "dead"
  std::string reason;  ///< why, and what to do
  std::string io;      ///< what is really used: "io_uring, O_DIRECT, 2 MiB pages, ..."
  Bytes capacity{};
  Bytes used{};
  Bytes allocated{};
  std::uint64_t blocks = 0;
  std::uint64_t blocks_read = 0;
  std::uint64_t blocks_written = 0;
  std::uint64_t blocks_lost = 0;
  std::uint64_t corrupt = 0;
  Bytes medium_read{};
  Bytes medium_written{};
  double slowdown = 1;  ///< observed over predicted time of loads; above 1: slower than measured
  Bytes limbo{};        ///< rows that the device still holds for loads that are over
};

struct EngineStatus {
  std::vector<EngineTier> tiers;
  std::uint64_t loads = 0;
  std::uint64_t loads_complete = 0;
  std::uint64_t loads_stopped = 0;
  std::uint64_t stores = 0;
  std::uint64_t stores_refused = 0;
  std::size_t indexed_blocks = 0;
  std::size_t free_rows = 0;
  /// What someone should look at, e.g. "recalibrate tier nvme: loads take 2.3 times as long as measured".
  std::vector<std::string> alarms;
};

class Engine {
 public:
  /// Opens the tiers, recovers what they hold, starts the threads. All that is wrong is reported at once: a
  /// path that is missing, not writable, in use by another engine (which one) or holds other bytes, a
  /// capacity that the disk or memory has no room for, a profile of another machine or a contradiction with
  /// the policy, a decision log that cannot be opened. Kinds: those of the first problem.
  static Result<std::unique_ptr<Engine>> open(EngineOptions options);
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] virtual Plan plan(const Request& request) const = 0;
  virtual void hint(const Request& request) = 0;
  /// Decides and starts. Never null; a plan that loads nothing is complete at once. Once the engine is closed
  /// nothing is loaded, and the end is `cancelled`.
  [[nodiscard]] virtual std::shared_ptr<Load> load(const Request& request, LoadOptions options = {}) = 0;
  /// Kinds, on_done does not come: busy (too many stores wait to be copied), no_memory, interrupted
  /// (the engine is closed), bad_input (counts that do not match, null rows, a key twice).
  virtual Result<void> store(StoreRequest request) = 0;
  virtual void cancel(RequestId request) = 0;

  [[nodiscard]] virtual EngineStatus status() const = 0;
  [[nodiscard]] virtual Bytes row_bytes() const = 0;
  /// Ends loads and stores, writes down what is worth keeping and only memory holds, the most valuable first,
  /// as far as `limit` (at most a day; negative or not a number: no time) and the write limits go, and closes
  /// the tiers. It may take all of `limit` where write limits are spent. The destructor does the same with
  /// 5 s. False where something had to be left behind; the next start recovers without it.
  virtual bool close(Seconds limit) = 0;

 protected:
  Engine() = default;
};

}  // namespace fulcrum
