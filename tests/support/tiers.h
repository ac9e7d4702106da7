// Tiers that misbehave in one way each, around a tier that does not. For the tests of every room.
//
//   PassThroughTier  adds nothing: what the others are built on, and itself held to the tier contract
//   CountingTier     remembers every job
//   FaultyTier       fails the n-th job, or each with a probability, with a given kind
//   SlowTier         holds each event back for a time on a given clock
//   StallingTier     tells of nothing while it is stalled; its jobs do not end, whatever is asked of them
//   LyingTier        claims what is not so
//
// They own the tier inside. Deterministic: faults fall by the order of jobs or by a seed. Threads: as Tier;
// StallingTier::stall() and release() may be called by any.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/random.h"
#include "tiers/tier.h"

namespace fulcrum::test {

class PassThroughTier : public Tier {
 public:
  explicit PassThroughTier(std::unique_ptr<Tier> inner)
      : Tier(inner->row_bytes()), inner_(std::move(inner)) {}

  void wake() override { inner_->wake(); }
  [[nodiscard]] bool contains(const BlockKey& key) const override { return inner_->contains(key); }
  [[nodiscard]] TierStatus status() const override { return inner_->status(); }
  [[nodiscard]] std::vector<BlockKey> take_lost() override { return inner_->take_lost(); }
  void each_run(const std::function<void(const StoredRun&)>& visit) const override {
    inner_->each_run(visit);
  }
  Result<void> close(Seconds limit) override { return inner_->close(limit); }
  [[nodiscard]] std::size_t jobs_max() const override { return inner_->jobs_max(); }
  [[nodiscard]] Tier& inner() { return *inner_; }

 protected:
  /// A job as the caller gave it, and its number in the order of jobs, from 1.
  struct Asked {
    bool reads = false;
    std::uint64_t number = 0;
    std::vector<BlockKey> keys;
    std::vector<std::byte*> rows;  ///< of a read
    std::vector<BlockKey> fresh;   ///< of a write: what was not held before
  };
  virtual void before(const Asked& /*asked*/) {}
  /// May change what the caller is told.
  virtual void after(TierEvent& /*event*/, const Asked& /*asked*/) {}

  Result<void> do_read(TierRead job) override {
    return start(job.id, {true, jobs_ + 1, job.keys, job.rows, {}},
                 [&] { return inner_->read(std::move(job)); });
  }
  Result<void> do_write(TierWrite job) override {
    Asked asked{false, jobs_ + 1, job.keys, {}, {}};
    std::copy_if(job.keys.begin(), job.keys.end(), std::back_inserter(asked.fresh),
                 [this](const BlockKey& key) { return !inner_->contains(key); });
    return start(job.id, std::move(asked), [&] { return inner_->write(std::move(job)); });
  }
  void do_erase(std::span<const BlockKey> keys) override { inner_->erase(keys); }
  void do_touch(std::span<const BlockKey> keys, float worth) override { inner_->touch(keys, worth); }
  void do_cancel(JobId id) override { inner_->cancel(id); }

  std::size_t do_poll(std::span<TierEvent> out, Seconds wait) override {
    const std::size_t count = inner_->poll(out, wait);
    for (TierEvent& event : out.first(count)) {
      const auto found = asked_.find(event.id);
      FULCRUM_CHECK(found != asked_.end(), "an event of a job that was never given");
      after(event, found->second);
      if (event.ended) asked_.erase(found);
    }
    adopt(inner_->tally());
    return count;
  }

 private:
  template <class Start>
  Result<void> start(JobId id, Asked asked, Start begin) {
    before(asked);
    Result<void> started = begin();
    if (started.has_error()) return started;
    ++jobs_;
    asked_.insert_or_assign(id, std::move(asked));
    return started;
  }
  /// What the face does not count.
  void adopt(const TierTally& inside) {
    tally_.blocks_lost = inside.blocks_lost;
    tally_.corrupt = inside.corrupt;
    tally_.medium_read = inside.medium_read;
    tally_.medium_written = inside.medium_written;
  }

  std::unique_ptr<Tier> inner_;
  std::unordered_map<JobId, Asked> asked_;
  std::uint64_t jobs_ = 0;
};

class CountingTier final : public PassThroughTier {
 public:
  using PassThroughTier::PassThroughTier;
  struct Seen {
    bool reads = false;
    std::vector<BlockKey> keys;
  };
  [[nodiscard]] const std::vector<Seen>& jobs() const { return jobs_; }
  [[nodiscard]] std::size_t in_flight_peak() const { return in_flight_peak_; }

 private:
  void before(const Asked& asked) override {
    jobs_.push_back({asked.reads, asked.keys});
    in_flight_peak_ = std::max(in_flight_peak_, in_flight() + 1);
  }
  std::vector<Seen> jobs_;
  std::size_t in_flight_peak_ = 0;
};

/// Which jobs fail. Reads and writes inside still run; what a failed write has left is taken back.
struct TierFault {
  ErrorKind kind = ErrorKind::device;
  std::optional<std::uint64_t> nth = std::nullopt;  ///< only this one, from 1, among those of `only_reads`
  double probability = 0;                           ///< of each job, where nth is empty
  std::optional<bool> only_reads = std::nullopt;    ///< reads, or writes, only
  std::uint64_t seed = 1;
};

class FaultyTier final : public PassThroughTier {
 public:
  FaultyTier(std::unique_ptr<Tier> inner, TierFault fault)
      : PassThroughTier(std::move(inner)), fault_(fault), random_(fault.seed) {}
  [[nodiscard]] std::uint64_t injected() const { return injected_; }

 private:
  void before(const Asked& asked) override {
    if (fault_.only_reads && *fault_.only_reads != asked.reads) return;
    ++eligible_;
    const bool hit = fault_.nth ? eligible_ == *fault_.nth : random_.uniform() < fault_.probability;
    if (hit) doomed_.insert(asked.number);
  }
  void after(TierEvent& event, const Asked& asked) override {
    if (doomed_.count(asked.number) == 0) return;
    event.blocks = 0;
    if (!event.ended) return;
    doomed_.erase(asked.number);
    ++injected_;
    if (!asked.reads) inner().erase(asked.fresh);
    event.result =
        make_error(fault_.kind, asked.reads ? "read" : "write", "faulty tier", "it was told to fail");
  }
  TierFault fault_;
  Random random_;
  std::set<std::uint64_t> doomed_;
  std::uint64_t eligible_ = 0;
  std::uint64_t injected_ = 0;
};

class SlowTier final : public PassThroughTier {
 public:
  /// `clock` is slept on where a caller waits: a ManualClock moves on at once.
  SlowTier(std::unique_ptr<Tier> inner, Clock& clock, Seconds delay)
      : PassThroughTier(std::move(inner)), clock_(clock), delay_(delay) {}
  void wake() override {
    woken_ = true;
    inner().wake();
  }

 private:
  std::size_t do_poll(std::span<TierEvent> out, Seconds wait) override {
    const Seconds deadline = clock_.now() + wait;
    for (;;) {
      take(held_.empty() ? deadline - clock_.now() : Seconds(0));
      const Seconds now = clock_.now();
      std::size_t count = 0;
      for (; count < out.size() && !held_.empty() && held_.front().release <= now; held_.pop_front()) {
        out[count++] = std::move(held_.front().event);
      }
      if (count > 0 || now >= deadline || woken_.exchange(false)) return count;
      if (held_.empty()) return 0;
      clock_.sleep(std::min({held_.front().release - now, deadline - now, kNap}));
    }
  }
  void take(Seconds wait) {
    std::array<TierEvent, 16> events;
    for (std::size_t count = 1; count > 0; wait = Seconds(0)) {
      count = PassThroughTier::do_poll(events, wait);
      for (TierEvent& event : std::span(events).first(count)) {
        event.elapsed += delay_;
        held_.push_back({clock_.now() + delay_, std::move(event)});
      }
    }
  }
  struct Held {
    Seconds release;
    TierEvent event;
  };
  static constexpr Seconds kNap{0.01};  ///< so that wake() is heard
  Clock& clock_;
  Seconds delay_;
  std::deque<Held> held_;
  std::atomic<bool> woken_ = false;
};

class StallingTier final : public PassThroughTier {
 public:
  StallingTier(std::unique_ptr<Tier> inner, Clock& clock)
      : PassThroughTier(std::move(inner)), clock_(clock) {}

  void stall() { set(true); }
  void release() { set(false); }
  void wake() override {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    changed_.notify_all();
    inner().wake();
  }
  Result<void> close(Seconds limit) override {
    {
      const std::lock_guard lock(mutex_);
      if (stalled_ && in_flight() > 0) {
        return make_error(ErrorKind::timed_out, "close", "stalling tier", "jobs have not ended");
      }
    }
    return PassThroughTier::close(limit);
  }

 private:
  void set(bool stalled) {
    {
      const std::lock_guard lock(mutex_);
      stalled_ = stalled;
    }
    changed_.notify_all();
  }
  std::size_t do_poll(std::span<TierEvent> out, Seconds wait) override {
    {
      std::unique_lock lock(mutex_);
      const Seconds deadline = clock_.now() + wait;
      while (stalled_ && !woken_ && clock_.now() < deadline)
        clock_.wait(lock, changed_, deadline - clock_.now());
      woken_ = false;
      if (stalled_) return 0;
    }
    return PassThroughTier::do_poll(out, wait);
  }
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stalled_ = false;
  bool woken_ = false;
};

enum class TierLie : std::uint8_t {
  flipped_byte,     ///< reads come back with one byte changed
  other_block,      ///< reads come back with another block of the job in the last row
  lost_write,       ///< writes are reported and not done
  keeps_erased,     ///< erase() does nothing
  early_row,        ///< reads are reported before their last row has its bytes
  late_touch,       ///< rows of a read are written to after its end
  silent_loss,      ///< a block goes after each write, and nobody is told
  wrong_position,   ///< runs are listed one block further on
  over_capacity,    ///< more is used than the capacity allows
  miscounted_miss,  ///< a block less than there are is counted in front of a missing one
  failed_success,   ///< missing blocks are reported as success
  counts_twice,     ///< blocks that are written again count again
  spoils_erased,    ///< a read of blocks that are erased meanwhile brings something else
  keeps_cancelled,  ///< cancelled writes are reported interrupted, and all their blocks are kept
  stays_open,       ///< close() does nothing
};

class LyingTier final : public PassThroughTier {
 public:
  LyingTier(std::unique_ptr<Tier> inner, TierLie lie) : PassThroughTier(std::move(inner)), lie_(lie) {}

  [[nodiscard]] TierStatus status() const override {
    TierStatus status = PassThroughTier::status();
    if (lie_ == TierLie::over_capacity && status.blocks > 0) status.used = status.capacity + row_bytes();
    if (lie_ == TierLie::counts_twice) status.blocks += rewritten_;
    return status;
  }
  Result<void> close(Seconds limit) override {
    return lie_ == TierLie::stays_open ? Result<void>() : PassThroughTier::close(limit);
  }
  void each_run(const std::function<void(const StoredRun&)>& visit) const override {
    PassThroughTier::each_run([&](StoredRun run) {
      if (lie_ == TierLie::wrong_position) ++run.first;
      visit(run);
    });
  }

 private:
  void do_erase(std::span<const BlockKey> keys) override {
    if (lie_ != TierLie::keeps_erased) PassThroughTier::do_erase(keys);
    erased_.insert(keys.begin(), keys.end());
  }
  void do_cancel(JobId id) override {
    if (lie_ == TierLie::keeps_cancelled) {
      cancelled_.insert(id);
    } else {
      PassThroughTier::do_cancel(id);
    }
  }
  void after(TierEvent& event, const Asked& asked) override {
    if (cancelled_.count(event.id) != 0 && !asked.reads) {
      event.blocks = 0;
      if (event.ended)
        event.result = make_error(ErrorKind::interrupted, "write", "lying tier", "it was cancelled");
    }
    if (!event.ended) return;
    const bool well = !event.result.has_error();
    if (asked.reads) return after_read(event, asked, well);
    if (well && lie_ == TierLie::lost_write) inner().erase(asked.fresh);
    if (well && lie_ == TierLie::silent_loss) inner().erase({&asked.keys.back(), 1});
    rewritten_ += asked.keys.size() - asked.fresh.size();
  }
  void after_read(TierEvent& event, const Asked& asked, bool well) {
    if (lie_ == TierLie::spoils_erased && erased_.count(asked.keys.front()) != 0)
      *asked.rows.front() ^= std::byte{1};
    if (!well && lie_ == TierLie::miscounted_miss && event.blocks > 0) --event.blocks;
    if (!well && lie_ == TierLie::failed_success) {
      event.result = {};
      event.blocks = static_cast<std::uint32_t>(asked.keys.size());
    }
    if (well) spoil(asked.rows);
  }
  void spoil(const std::vector<std::byte*>& rows) {
    const auto size = static_cast<std::size_t>(row_bytes().value());
    if (lie_ == TierLie::flipped_byte) rows.front()[size / 2] ^= std::byte{0x10};
    if (lie_ == TierLie::other_block) std::memcpy(rows.back(), rows.front(), size);
    if (lie_ == TierLie::early_row) std::memset(rows.back() + size / 2, 0, size - size / 2);
    if (lie_ != TierLie::late_touch) return;
    if (touched_ != nullptr) *touched_ ^= std::byte{1};
    touched_ = rows.front();
  }
  TierLie lie_;
  std::byte* touched_ = nullptr;
  std::uint64_t rewritten_ = 0;
  std::set<BlockKey> erased_;
  std::set<JobId> cancelled_;
};

}  // namespace fulcrum::test
