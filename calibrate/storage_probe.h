// The storage probe: measures one device and makes a tier's profile of it.
//
// Order: write the file; surface of I/O size and depth; concurrent loads, set-up and whole loads at the
// point that the surface shows to be enough; last the writes, so that reads do not follow heavy writing.
// Inside each part the cells are interleaved in random order, round after round, with a reference cell in
// between that shows drift.
//
// Threads: one; `stop` may be raised from anywhere. Errors: interrupted, and those of Device; then nothing
// is in flight any more.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "calibrate/cpu_meter.h"
#include "calibrate/heat_log.h"
#include "calibrate/probe_plan.h"
#include "calibrate/samples.h"
#include "calibrate/verdict.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "tiers/device.h"

namespace fulcrum::calibrate {

/// Told how far the work is (0..1) and what is going on.
using ProgressHook = std::function<void(double share, std::string_view what)>;

struct ProbeHooks {
  ProgressHook progress = [](double, std::string_view) {};
  CpuMeter cpu = thread_cpu_time;
  HeatMeter heat = [] { return std::optional<Temperature>(); };
};

/// A short write after a rest.
struct RestedBurst {
  Seconds rest{};
  Bytes bytes{};
  BytesPerSecond rate{};
};

/// What a probe saw, before anything is made of it.
struct Observations {
  Samples samples;
  Cell point;  ///< I/O size and depth that one load needs to be as fast as it gets
  MediumProof proof;
  IoMode mode;
  Bytes filled{};
  std::int64_t wrong_sectors = 0;
  std::vector<RestedBurst> rested;  ///< after the ramp, each rest longer than the one before
  std::optional<Heat> heat;
  bool budget_spent = false;  ///< writes were left out to stay inside the budget
};

struct StorageReport {
  TierProfile tier;  ///< name and medium are the caller's to set
  Samples samples;
};

/// Everything: observe, fit, judge.
Result<StorageReport> probe_storage(Device& device, Clock& clock, const ProbePlan& plan,
                                    const ProbeHooks& hooks, const std::atomic<bool>& stop);

/// The first half: traffic only.
Result<Observations> observe_storage(Device& device, Clock& clock, const ProbePlan& plan,
                                     const ProbeHooks& hooks, const std::atomic<bool>& stop);

}  // namespace fulcrum::calibrate
