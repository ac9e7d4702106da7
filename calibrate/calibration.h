// A whole calibration of one machine: paths looked at, planned, measured, put together as a profile.
//
// plan_calibration() touches nothing but a small unnamed file in every path; its result is what a dry run
// shows and what measure() carries out. Threads: one; `stop` may be raised from anywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "calibrate/memory_probe.h"
#include "calibrate/preflight.h"
#include "calibrate/probe_plan.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "tiers/machine_facts.h"

namespace fulcrum::calibrate {

struct CalibrationRequest {
  std::vector<std::string> paths;
  std::vector<std::string> names;  ///< of the tiers, in the order of `paths`; empty: chosen by medium
  bool full = false;
  bool turning = false;  ///< treat every path as a turning medium
  Bytes budget{};        ///< most bytes to write on each path; 0: the plan's own
  std::uint64_t seed = 1;
};

struct PathPlan {
  std::string tier;  ///< name
  Preflight seen;
  ProbePlan plan;
};

struct CalibrationPlan {
  MachineFacts facts;
  MemoryPlan memory;
  std::vector<PathPlan> paths;
};

/// Kinds: those of preflight(), bad_input (names: count, doubles, the reserved "dram"), no_space.
Result<CalibrationPlan> plan_calibration(const CalibrationRequest& request, Clock& clock);

/// Told how far one tier's measurement is.
using TierProgress = std::function<void(std::string_view tier, double share, std::string_view detail)>;

struct Calibration {
  MachineProfile profile;   ///< tiers, fastest first; provenance without the command line; no prefill
  std::string samples_csv;  ///< every timing
};

/// Kinds: interrupted, those of FileDevice and of the probes.
Result<Calibration> measure_machine(const CalibrationPlan& plan, const CalibrationRequest& request,
                                    Clock& clock, const TierProgress& progress,
                                    const std::atomic<bool>& stop);

}  // namespace fulcrum::calibrate
