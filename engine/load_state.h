// LoadState: what a Load shows to the host and what the core puts into it.
//
// The host's side (progress, row, release, wait, give_up), the core's side (put, finish) and the copying
// threads' (copied) meet under one mutex that is held for moments. Once the load has ended nothing arrives
// any more, and nothing is being copied.
//
// What belongs to the host, its callback and all that it captures, is called and destroyed without that
// mutex and without the core's: by the engine thread behind the last call, or by whoever gives the load up.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fulcrum/engine.h"
#include "tiers/dram_tier.h"

namespace fulcrum::engine {

using LoadId = std::uint64_t;

/// What the host's side tells the core. Called without the load's lock; must not block.
struct LoadHooks {
  std::function<void(LoadId)> released;                  ///< rows came free
  std::function<void(LoadId)> dropped;                   ///< the host gave the load up
  std::function<void(std::function<void()>)> on_engine;  ///< runs something on the engine thread
};

class LoadState final : public Load, public std::enable_shared_from_this<LoadState> {
 public:
  LoadState(LoadId id, const Plan& plan, std::uint32_t first, std::uint32_t count, LoadOptions options,
            std::size_t row_bytes, std::shared_ptr<const LoadHooks> hooks);

  // The host's side.
  [[nodiscard]] const Plan& plan() const override { return plan_; }
  [[nodiscard]] std::uint32_t first() const override { return first_; }
  [[nodiscard]] std::uint32_t count() const override { return count_; }
  [[nodiscard]] LoadProgress progress() const override;
  [[nodiscard]] std::span<const std::byte> row(std::uint32_t i) const override;
  void release(std::uint32_t blocks) override;
  LoadProgress wait(std::uint32_t blocks) override;
  /// The host lets go: ends the load. No row of the host is written and its callback is not called once this
  /// returns. Waits for the copying threads, which wait for nobody, and for the callback where that runs on
  /// another thread. On any thread.
  void give_up();

  // The core's side.
  [[nodiscard]] LoadId id() const { return id_; }
  [[nodiscard]] bool copies() const { return !into_.empty(); }
  /// Where block i goes, for loads that are copied.
  [[nodiscard]] std::byte* into(std::uint32_t i) const { return into_[i]; }
  /// A block has arrived, in any order. Ignored once the load has ended.
  void put(std::uint32_t i, Lease row);
  /// Takes the blocks that are next to be copied, and counts a copy as running.
  [[nodiscard]] std::vector<Lease> take_to_copy(std::uint32_t& begin);
  /// That copy is done: its blocks are ready. On the thread that copied, so that nobody who waits for the
  /// copy waits for more than that.
  void copied(std::uint32_t blocks);
  /// Ends the load with what is ready, at the latest when the running copy is done. `complete` is for loads
  /// of nothing; others are complete when all is ready.
  void finish(LoadEnd end);
  [[nodiscard]] bool ended() const;
  /// Leading blocks that have arrived, copied or not.
  [[nodiscard]] std::uint32_t arrived() const;

 protected:
  bool when(std::uint32_t blocks, std::function<void()> resume) override;
  std::shared_ptr<Load> self() override { return shared_from_this(); }

 private:
  struct Waiter {
    std::uint32_t blocks = 0;
    std::function<void()> resume;
  };
  using Calls = std::vector<std::function<void()>>;
  using Callback = std::function<void(const LoadProgress&)>;
  /// Counts what is ready, ends the load where it is time, and collects whom to call.
  [[nodiscard]] Calls settle();
  void call(Calls calls);
  /// Tells the host how far the load is. On the engine thread.
  void report();

  const LoadId id_;
  const Plan plan_;
  const std::uint32_t first_;
  const std::uint32_t count_;
  const std::vector<std::byte*> into_;
  const std::size_t row_bytes_;
  const std::shared_ptr<const LoadHooks> hooks_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Lease> rows_;
  std::uint32_t arrived_ = 0;
  std::uint32_t ready_ = 0;
  std::uint32_t released_ = 0;
  std::uint32_t copying_ = 0;  ///< blocks of the running copy
  LoadEnd ending_ = LoadEnd::running;
  LoadEnd end_ = LoadEnd::running;
  std::vector<Waiter> waiters_;
  bool given_up_ = false;
  Callback on_progress_;        ///< empty once nothing is left to be told
  LoadProgress told_;           ///< by on_progress_, or by the report that is queued
  bool report_queued_ = false;  ///< it will tell what is so by then
  std::thread::id reporting_;   ///< who runs on_progress_ or destroys it; nobody: the default
};

}  // namespace fulcrum::engine
