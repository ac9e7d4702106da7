#include "cli/stop_signal.h"

namespace fulcrum::cli {
namespace {

// A signal handler can reach nothing else. It is lock-free, hence safe there.
std::atomic<bool> stop_raised{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void raise_stop(int) {
  stop_raised.store(true, std::memory_order_relaxed);
}

}  // namespace

StopSignal::StopSignal() {
  stop_raised.store(false, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = raise_stop;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

const std::atomic<bool>& StopSignal::raised() const {
  return stop_raised;
}

}  // namespace fulcrum::cli
