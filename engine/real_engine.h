// RealEngine: threads, locks and the clock around EngineCore; what Engine::open gives to a host.
//
// engine.cc holds what the host calls, engine_life.cc how it begins and ends.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/out_of_memory.h"
#include "engine/core.h"
#include "engine/engine_thread.h"
#include "engine/gateway.h"
#include "engine/pool_copier.h"
#include "engine/store_door.h"
#include "engine/tier_setup.h"
#include "fulcrum/engine.h"

namespace fulcrum::engine {

class RealEngine final : public Engine {
 public:
  RealEngine(EngineOptions options, OpenTiers opened);
  ~RealEngine() override;

  void start(Decider decider);

  [[nodiscard]] Plan plan(const Request& request) const override;
  void hint(const Request& request) override;
  std::shared_ptr<Load> load(const Request& request, LoadOptions options) override;
  Result<void> store(StoreRequest request) override;
  void cancel(RequestId request) override {
    or_stop("cancel()", [&] { post([this, request](Seconds now) { core_->cancel(request, now); }); });
  }
  [[nodiscard]] EngineStatus status() const override;
  [[nodiscard]] Bytes row_bytes() const override { return opened_.row_bytes; }
  bool close(Seconds limit) override;

 private:
  template <class Call>
  void with_core(Call&& call);
  template <class Call>
  void post(Call call) {
    thread_.post([this, call = std::move(call)] { with_core(call); });
  }
  Result<void> take_store(StoreRequest& request);
  void step() {
    with_core([&](Seconds now) { core_->step(now); });
  }
  CoreParts parts();

  SteadyClock clock_;
  EngineOptions options_;
  OpenTiers opened_;
  std::unique_ptr<PoolCopier> copier_;
  EngineThread thread_{clock_, [this] { step(); }};
  std::shared_ptr<Gateway<RealEngine>> gateway_ = std::make_shared<Gateway<RealEngine>>(this);
  mutable std::mutex mutex_;
  std::condition_variable quiet_;
  std::unique_ptr<EngineCore> core_;
  StoreDoor door_;
  std::mutex close_mutex_;
  bool closed_ = false;
  bool clean_ = true;
};

template <class Call>
void RealEngine::with_core(Call&& call) {
  Seconds next{};
  bool quiet = false;
  {
    const std::lock_guard lock(mutex_);
    call(clock_.now());
    next = core_->next_step();
    quiet = core_->quiet();
  }
  if (quiet) quiet_.notify_all();
  thread_.wake_by(next);
}

}  // namespace fulcrum::engine
