// The storage probe on simulated devices: sizes and times are scaled down so that hundreds of samples cost
// milliseconds, the code is the one that measures real drives.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "calibrate/storage_probe.h"
#include "tiers/sim_device.h"

namespace fulcrum::test {

/// A device of some 25 MB/s with an ordinary amount of noise, different for each seed, and the plan that
/// measures it: few bytes, so that hundreds of devices take seconds.
[[nodiscard]] SimTruth random_truth(std::uint64_t seed);
[[nodiscard]] calibrate::ProbePlan tiny_plan(std::uint64_t seed);
/// A quiet device of 100 MB/s, to which a test adds what it is about.
[[nodiscard]] SimTruth plain_truth(std::uint64_t seed);
/// The quick plan at about 1/32 of its sizes.
[[nodiscard]] calibrate::ProbePlan small_plan(std::uint64_t seed);

/// Probes a device of this truth. The report of a probe that failed is a test failure.
[[nodiscard]] calibrate::StorageReport probe(const SimTruth& truth, const calibrate::ProbePlan& plan);

/// Rate of one load of `depth` requests of `io_size` bytes, by the truth: fewer bytes in flight than the
/// device needs leave it idle for a part of each request's latency.
[[nodiscard]] BytesPerSecond true_rate(const SimTruth& truth, Bytes io_size, int depth);
/// Time until a small read at a random place has arrived, by the truth, without noise.
[[nodiscard]] Seconds true_setup(const SimTruth& truth);
/// Size of a durable write that reaches half of the write rate, by the truth.
[[nodiscard]] Bytes true_commit_half(const SimTruth& truth);

}  // namespace fulcrum::test
