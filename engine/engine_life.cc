// RealEngine: how it begins, what connects its parts, and how it ends.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/out_of_memory.h"
#include "engine/line_file.h"
#include "engine/real_engine.h"

namespace fulcrum::engine {
namespace {

constexpr int kStoresWaiting = 256;
constexpr Seconds kDestructorLimit{5};
constexpr Seconds kLongestClose{86400};
constexpr Seconds kLeast{0.05};  // for what takes moments where all is well
constexpr Seconds kLogLimit{1};  // for the last lines of the decision log

}  // namespace

RealEngine::RealEngine(EngineOptions options, OpenTiers opened)
    : options_(std::move(options)),
      opened_(std::move(opened)),
      copier_(make_pool_copier(options_.policy.engine.copy_threads)),
      door_(kStoresWaiting) {}

RealEngine::~RealEngine() {
  or_stop("closing the engine", [this] { close(kDestructorLimit); });
  gateway_->shut();
  thread_.stop();  // who asked the closed engine is answered
}

CoreParts RealEngine::parts() {
  CoreParts parts;
  parts.pool = opened_.pool;
  parts.dram = std::move(opened_.dram);
  parts.staging_rows = opened_.staging_rows;
  parts.row_bytes = opened_.row_bytes;
  parts.root = BlockKey::root(options_.name);
  parts.copier = copier_.get();
  // Loads keep these three. None has anything to tell an engine that is gone: it has ended them all.
  parts.on_engine = [gate = gateway_](std::function<void()> call) {
    gate->with([&](RealEngine& self) { self.thread_.post(std::move(call)); });
  };
  parts.on_released = [gate = gateway_](LoadId) {
    or_stop("release()", [&] {
      gate->with([](RealEngine& self) { self.post([&self](Seconds now) { self.core_->released(now); }); });
    });
  };
  parts.on_dropped = [gate = gateway_](LoadId load) {
    or_stop("giving up a load", [&] {
      gate->with([load](RealEngine& self) {
        self.post([&self, load](Seconds now) { self.core_->dropped(load, now); });
      });
    });
  };
  parts.on_copied = [this](std::uint64_t copy) {
    post([this, copy](Seconds now) { core_->copied(copy, now); });
  };
  if (opened_.decisions) {
    parts.on_decision = [this](const std::string& line) { opened_.decisions->append(line); };
  }
  return parts;
}

void RealEngine::start(Decider decider) {
  core_ = std::make_unique<EngineCore>(std::move(decider), parts());
  for (OpenTiers::Files& store : opened_.stores) {
    const TierId tier = store.tier;
    auto listener = [this, tier](PortNews news) {
      thread_.post([this, tier, news = std::move(news)]() mutable {
        with_core([&](Seconds now) { core_->news(tier, std::move(news), now); });
      });
    };
    TierStatus status = store.store->status();
    core_->attach(tier, make_thread_port(std::move(store.store), std::move(listener)), store.io,
                  std::move(status));
    core_->restore(tier, store.found, clock_.now());
    store.found.clear();
    core_->restore_budget(tier, store.written_today);
  }
  thread_.post([this] { step(); });
  thread_.start();  // last: until here, what fails is an error of open()
}

bool RealEngine::close(Seconds limit) {
  const std::lock_guard only(close_mutex_);
  if (std::exchange(closed_, true)) return clean_;
  // Beyond a day is as good as for ever, and what is not a number is no time at all.
  limit = std::isnan(limit.value()) ? Seconds(0) : std::clamp(limit, Seconds(0), kLongestClose);
  const Seconds deadline = clock_.now() + limit;
  door_.shut();
  if (!thread_.started()) {  // open() failed half way: nothing runs but the tiers
    if (core_) clean_ = core_->close_ports(limit);
    copier_->stop();
    return clean_;
  }
  or_stop("close()",
          [&] { post([this, deadline](Seconds now) { core_->begin_close(now, deadline - now); }); });
  {
    std::unique_lock lock(mutex_);
    const auto wait = std::chrono::duration<double>(limit.value());
    clean_ = quiet_.wait_for(lock, wait, [&] { return core_->closing() && core_->quiet() && door_.empty(); });
  }
  // Where there was no time for it behind the stores that were taken: no copy begins from here on.
  or_stop("close()", [&] { with_core([&](Seconds now) { core_->begin_close(now, Seconds(0)); }); });
  // The ports' threads post their last news; the engine thread must not hold the core's lock meanwhile.
  if (!core_->close_ports(std::max(kLeast, deadline - clock_.now()))) clean_ = false;
  copier_->stop();
  or_stop("close()", [&] {
    thread_.wake_no_more();
    thread_.drain();  // whoever waits for a callback gets it
  });
  if (opened_.decisions) opened_.decisions->close(std::clamp(deadline - clock_.now(), kLeast, kLogLimit));
  return clean_;
}

}  // namespace fulcrum::engine
