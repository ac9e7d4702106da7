// Clock: the only way that Fulcrum learns the time. Monotonic; wall-clock time only for stamps.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "fulcrum/units.h"

namespace fulcrum {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic time from an arbitrary origin.
  [[nodiscard]] virtual Seconds now() const = 0;
  /// Waits; a manual clock just moves on.
  virtual void sleep(Seconds duration) = 0;
  /// Waits as sleep() does, or until `signal` is notified; `lock` is held before and after.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& signal, Seconds duration);
};

/// The machine's monotonic clock (CLOCK_MONOTONIC).
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] Seconds now() const override;
  void sleep(Seconds duration) override;
};

/// A clock that the test or the simulation moves.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Seconds start = Seconds(0)) : now_(start) {}
  [[nodiscard]] Seconds now() const override { return now_; }
  void sleep(Seconds duration) override { now_ += duration; }
  void wait(std::unique_lock<std::mutex>& /*lock*/, std::condition_variable& /*signal*/,
            Seconds duration) override {
    now_ += duration;
  }
  /// Sets the time; never moves it backwards.
  void advance_to(Seconds time) {
    if (time > now_) now_ = time;
  }

 private:
  Seconds now_;
};

/// Wall-clock time as ISO 8601 in UTC, for stamps in files only.
[[nodiscard]] std::string utc_stamp();

}  // namespace fulcrum
