// HealthMonitor: what a tier can still be used for, from what its jobs came to. Plain state, no I/O.
//
//   healthy --write refused (full, quota, read-only)--> degraded --probe written--> healthy
//   healthy, degraded --failures of the device--> disabled --probe read and written--> degraded --...-->
//   healthy any --lost for good (device gone, limbo full)--> dead
//
// Probes are due at growing intervals; a probe is an ordinary small write (and read back). Causes that
// another attempt cannot mend (read-only mount) are probed too, at the longest interval: operators remount.
// A tier that falls ill again soon after it was healed goes on where its intervals were: no flapping.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fulcrum/result.h"
#include "fulcrum/units.h"
#include "tiers/tier.h"

namespace fulcrum {

struct HealthLimits {
  int failures = 8;  ///< of the device, within `window`: disabled
  Seconds window{10};
  Seconds probe_first{1};  ///< after it was degraded or disabled; doubles up to
  Seconds probe_longest{60};
};

class HealthMonitor {
 public:
  explicit HealthMonitor(HealthLimits limits = {}) : limits_(limits) {}

  void on_read(const Result<void>& result, Seconds now);
  void on_write(const Result<void>& result, Seconds now);
  /// No write can be taken, whatever kind of error it is: degraded at once.
  void on_unwritable(const Error& error, Seconds now);
  /// The device is gone, or holds too much memory that it does not give back.
  void on_dead(std::string reason);

  [[nodiscard]] Health health() const { return health_; }
  /// What happened and what to do, for people; empty while healthy.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Time of the next probe, where one is due at all.
  [[nodiscard]] std::optional<Seconds> probe_at() const { return probe_at_; }
  /// A probe has begun: the next one is due later.
  void on_probe_started(Seconds now);
  void on_probe(const Result<void>& result, Seconds now);
  /// Times the state has changed.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  void on_failure(const Error& error, Seconds now);
  void move(Health to, std::string reason, Seconds now);

  HealthLimits limits_;
  Health health_ = Health::healthy;
  std::string reason_;
  std::optional<Seconds> probe_at_;
  Seconds probe_interval_{};
  Seconds healthy_since_{};
  int failures_ = 0;
  Seconds window_start_{};
  std::uint64_t changes_ = 0;
};

}  // namespace fulcrum
