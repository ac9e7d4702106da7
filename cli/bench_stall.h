// StallDevice: a device whose completions can be held back, as those of a drive that has stopped answering.
//
// Threads: as Device; stall() and release() from any.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "tiers/device.h"

namespace fulcrum::cli {

/// Held by whoever stalls the devices; outlives them.
class StallSwitch {
 public:
  void stall() { stalled_ = true; }
  void release() {
    stalled_ = false;
    changed_.notify_all();
  }

 private:
  friend class StallDevice;
  std::atomic<bool> stalled_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class StallDevice final : public Device {
 public:
  StallDevice(std::unique_ptr<Device> inner, StallSwitch& held) : inner_(std::move(inner)), held_(held) {}

  [[nodiscard]] Geometry geometry() const override { return inner_->geometry(); }
  [[nodiscard]] IoMode mode() const override { return inner_->mode(); }
  [[nodiscard]] DeviceIdentity identity() const override { return inner_->identity(); }
  Result<void> sync() override { return inner_->sync(); }
  void wake() override {
    {
      const std::lock_guard lock(held_.mutex_);
      woken_ = true;
    }
    held_.changed_.notify_all();
    inner_->wake();
  }

 private:
  // A wait that stalls may be cut short: poll() is asked again.
  static constexpr std::chrono::milliseconds kNap{5};

  Result<void> do_submit(const IoRequest& request) override { return inner_->submit(request); }
  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override {
    if (held_.stalled_) {
      std::unique_lock lock(held_.mutex_);
      const auto nap =
          std::min<std::chrono::duration<double>>(kNap, std::chrono::duration<double>(wait.value()));
      held_.changed_.wait_for(lock, nap, [&] { return woken_ || !held_.stalled_; });
      woken_ = false;
      return std::size_t{0};
    }
    return inner_->poll(out, wait);
  }

  std::unique_ptr<Device> inner_;
  StallSwitch& held_;
  bool woken_ = false;
};

}  // namespace fulcrum::cli
