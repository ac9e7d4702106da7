// The engine's front door: what a host calls. How an engine begins and ends is in engine_life.cc.
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "base/out_of_memory.h"
#include "engine/host_mistakes.h"
#include "engine/real_engine.h"

namespace fulcrum {
namespace engine {
namespace {

/// Texts so short that they need no memory themselves.
Error without_memory(const char* operation) {
  Error error;
  error.kind = ErrorKind::no_memory;
  error.retryable = true;
  error.operation = operation;
  error.where = "engine";
  error.detail = "out of memory";
  error.next_step = "free memory";
  return error;
}

Error too_many_stores() {
  Error full = make_error(ErrorKind::busy, "store", "engine", "too many stores wait to be copied",
                          "offer the blocks again later, or let them go");
  full.retryable = true;
  return full;
}

}  // namespace

Plan RealEngine::plan(const Request& request) const {
  return or_stop("plan()", [&] {
    if (!mistake_in(request).empty()) return plan_of_nothing(request);
    const std::lock_guard lock(mutex_);
    return core_->plan(request, clock_.now());
  });
}

void RealEngine::hint(const Request& request) {
  or_stop("hint()", [&] {
    const std::string_view mistake = mistake_in(request);
    with_core(
        [&](Seconds now) { mistake.empty() ? core_->hint(request, now) : core_->note_mistake(mistake); });
  });
}

std::shared_ptr<Load> RealEngine::load(const Request& request, LoadOptions options) {
  return or_stop("load()", [&] {
    std::string_view mistake = mistake_in(request);
    if (mistake.empty()) mistake = mistake_in(options);
    std::shared_ptr<LoadState> state;
    with_core([&](Seconds now) {
      state = mistake.empty() ? core_->load(request, std::move(options), now)
                              : core_->load_mistaken(request, std::move(options), mistake);
    });
    Load* const load = state.get();
    return std::shared_ptr<Load>(load,
                                 [state](Load*) { or_stop("giving up a load", [&] { state->give_up(); }); });
  });
}

Result<void> RealEngine::store(StoreRequest request) {
  try {
    return take_store(request);
  } catch (const std::bad_alloc&) {  // nothing has been begun
    return without_memory("store");
  }
}

Result<void> RealEngine::take_store(StoreRequest& request) {
  if (Result<void> sound = check(request); sound.has_error()) return sound;
  switch (door_.enter()) {
    case StoreDoor::Answer::shut:
      return make_error(ErrorKind::interrupted, "store", "engine", "it is closed", "open it again");
    case StoreDoor::Answer::full:
      return too_many_stores();
    case StoreDoor::Answer::in:
      break;
  }
  try {
    thread_.post([this, request = std::move(request)]() mutable {
      with_core([&](Seconds now) {
        core_->store(std::move(request), now);
        door_.leave();
      });
    });
  } catch (const std::bad_alloc&) {
    door_.turn_back();
    throw;
  }
  return {};
}

EngineStatus RealEngine::status() const {
  try {
    EngineStatus status;
    {
      const std::lock_guard lock(mutex_);
      status = core_->status();
    }
    status.stores_refused = door_.refused();
    if (opened_.decisions) {
      if (std::string trouble = opened_.decisions->trouble(); !trouble.empty()) {
        status.alarms.push_back(std::move(trouble));
      }
    }
    return status;
  } catch (const std::bad_alloc&) {  // it only looks: nothing is half done
    return {};
  }
}

}  // namespace engine

Result<std::unique_ptr<Engine>> engine::open_engine(EngineOptions options, const WrapDevice& wrap) try {
  auto opened = open_tiers(options, wrap);
  if (opened.has_error()) return opened.error();
  auto decider = Decider::create(opened->policy, options.profile);
  if (decider.has_error()) return decider.error();
  auto made = std::make_unique<RealEngine>(std::move(options), std::move(*opened));
  made->start(std::move(*decider));
  return std::unique_ptr<Engine>(std::move(made));
} catch (const std::bad_alloc&) {  // what was open is closed by now
  return without_memory("open");
}

Result<std::unique_ptr<Engine>> Engine::open(EngineOptions options) {
  return engine::open_engine(std::move(options), {});
}

}  // namespace fulcrum
