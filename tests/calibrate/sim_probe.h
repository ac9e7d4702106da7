// The storage probe on simulated devices: sizes and times are scaled down so that hundreds of samples cost
// milliseconds, the code is the one that measures real drives.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "calibrate/storage_probe.h"
#include "tiers/sim_device.h"

namespace fulcrum::test {

/// A device of some 100 MB/s with an ordinary amount of noise, different for each seed.
[[nodiscard]] SimTruth random_truth(std::uint64_t seed);
/// A quiet device of 100 MB/s, to which a test adds what it is about.
[[nodiscard]] SimTruth plain_truth(std::uint64_t seed);
/// The quick plan at about 1/32 of its sizes.
[[nodiscard]] calibrate::ProbePlan small_plan(std::uint64_t seed);

/// Probes a device of this truth. The report of a probe that failed is a test failure.
[[nodiscard]] calibrate::StorageReport probe(const SimTruth& truth, const calibrate::ProbePlan& plan);

/// Time until a small read at a random place has arrived, by the truth, without noise.
[[nodiscard]] Seconds true_setup(const SimTruth& truth);
/// Size of a durable write that reaches half of the write rate, by the truth.
[[nodiscard]] Bytes true_commit_half(const SimTruth& truth);

}  // namespace fulcrum::test
