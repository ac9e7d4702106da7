// SickDevice: a device below a tier of a running engine, made ill and well by the test's own thread.
//
//   SickBay bay;                                    one a device
//   open_engine(options, bay.wrap());
//   bay.stall();   ... what does the engine do? ...   bay.release();
//   bay.refuse(EROFS);                              ... writes, allocations and syncs fail ...   bay.mend();
//
// Stalled, it tells of no completion; what was submitted still happens. Threads: SickBay from any.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "engine/tier_setup.h"
#include "tests/support/devices.h"

namespace fulcrum::test {

struct Sickness {
  std::atomic<bool> stalled = false;
  std::atomic<bool> woken = false;
  std::atomic<int> refusal = 0;  ///< errno of all that writes
  std::atomic<int> failure = 0;  ///< errno of all that reads
};

class SickDevice final : public PassThrough {
 public:
  SickDevice(std::unique_ptr<Device> inner, std::shared_ptr<Sickness> sickness)
      : PassThrough(std::move(inner)), sickness_(std::move(sickness)) {}
  void wake() override {
    sickness_->woken = true;
    PassThrough::wake();
  }

 private:
  void after(IoCompletion& completion, const Asked& asked) override {
    const bool reads = asked.request.kind == IoKind::read;
    const int code = reads ? sickness_->failure.load() : sickness_->refusal.load();
    if (code == 0) return;
    completion.bytes = 0;
    completion.result = os_error(code, std::string(to_string(asked.request.kind)), "sick device");
  }
  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override {
    const Seconds deadline = clock_.now() + wait;
    while (sickness_->stalled) {
      if (clock_.now() >= deadline || sickness_->woken.exchange(false)) return std::size_t{0};
      clock_.sleep(kNap);
    }
    return PassThrough::do_poll(out, std::max(Seconds(0), deadline - clock_.now()));
  }

  static constexpr Seconds kNap{0.001};
  SteadyClock clock_;
  std::shared_ptr<Sickness> sickness_;
};

class SickBay {
 public:
  [[nodiscard]] engine::WrapDevice wrap() const {
    return [sickness = sickness_](const std::string&, std::unique_ptr<Device> device) {
      return std::make_unique<SickDevice>(std::move(device), sickness);
    };
  }
  void stall() { sickness_->stalled = true; }
  void release() { sickness_->stalled = false; }
  void refuse(int code) { sickness_->refusal = code; }
  void fail(int code) { sickness_->failure = code; }
  void mend() { sickness_->refusal = sickness_->failure = 0; }

 private:
  std::shared_ptr<Sickness> sickness_ = std::make_shared<Sickness>();
};

}  // namespace fulcrum::test
