#include "sim_probe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace fulcrum::test {

SimTruth plain_truth(std::uint64_t seed) {
  SimTruth truth;
  truth.seed = seed;
  truth.capacity = 64_MiB;
  truth.setup = 200_us;
  truth.latency = 50_us;
  truth.lane = 400_MBps;
  truth.single = 100_MBps;
  truth.sigma = 0.4;
  truth.k = 0.01;
  truth.write = 80_MBps;
  truth.sync = 500_us;
  truth.cache_rate = 400_MBps;
  return truth;
}

SimTruth random_truth(std::uint64_t seed) {
  Random random = Random(seed).split("truth");
  const auto between = [&](double low, double high) { return low + (high - low) * random.uniform(); };
  SimTruth truth = plain_truth(seed);
  truth.capacity = 8_MiB;
  truth.single = BytesPerSecond(between(15e6, 40e6));
  truth.lane = truth.single * between(2, 6);
  truth.setup = Seconds(between(100e-6, 600e-6));
  truth.setup_spread = 0.1;
  truth.latency = Seconds(between(20e-6, 100e-6));
  truth.sigma = between(0.1, 0.9);
  truth.k = between(0.002, 0.04);
  truth.write = BytesPerSecond(between(10e6, 30e6));
  truth.sync = Seconds(between(300e-6, 2e-3));
  truth.noise = 0.05;
  truth.mood = 0.03;
  truth.mood_time = 3_ms;
  return truth;
}

calibrate::ProbePlan small_plan(std::uint64_t seed) {
  calibrate::ProbePlan plan = calibrate::quick_plan(seed);
  plan.file = 32_MiB;
  plan.fill_least = 32_MiB;
  plan.arena = 4_MiB;
  plan.write_most = 4_GiB;
  plan.io_sizes = {16_KiB, 64_KiB};
  plan.depths = {1, 4};
  plan.write_sizes = {64_KiB};
  plan.write_depths = {4};
  plan.loads = {1, 2, 4, 6, 8, 12, 16};
  plan.commits = {16_KiB, 64_KiB, 256_KiB, 1_MiB};
  plan.wholes = {256_KiB};
  plan.reference_io = 64_KiB;
  plan.window = {.warm_up = 0.002_s, .length = 0.012_s, .cap = 0.5_s};
  plan.write_window = plan.window;
  plan.time_limit = 100_s;
  plan.settle_most = 14;
  return plan;
}

calibrate::ProbePlan tiny_plan(std::uint64_t seed) {
  constexpr std::int64_t kSmaller = 4;
  calibrate::ProbePlan plan = small_plan(seed);
  for (auto* sizes : {&plan.io_sizes, &plan.write_sizes, &plan.commits, &plan.wholes}) {
    for (Bytes& size : *sizes) size = size / kSmaller;
  }
  for (Bytes* size : {&plan.file, &plan.fill_least, &plan.arena, &plan.reference_io})
    *size = *size / kSmaller;
  return plan;
}

calibrate::StorageReport probe(const SimTruth& truth, const calibrate::ProbePlan& plan) {
  ManualClock clock;
  SimDevice device(truth, clock);
  const std::atomic<bool> stop{false};
  calibrate::ProbeHooks hooks;
  hooks.cpu = [&] { return device.cpu_time(); };
  hooks.heat = [] { return Temperature{.celsius = 40, .limit = 80}; };
  auto report = calibrate::probe_storage(device, clock, plan, hooks, stop);
  if (report.has_error()) {
    ADD_FAILURE() << report.error().message();
    return {};
  }
  return std::move(*report);
}

BytesPerSecond true_rate(const SimTruth& truth, Bytes io_size, int depth) {
  const Seconds round = truth.latency + io_size / std::min(truth.lane, truth.single);
  return std::min(truth.single, io_size * std::int64_t{depth} / round);
}

Seconds true_setup(const SimTruth& truth) {
  return truth.setup + truth.latency + 4_KiB / std::min(truth.lane, truth.single);
}

Bytes true_commit_half(const SimTruth& truth) {
  return truth.write * (truth.sync + truth.latency);
}

}  // namespace fulcrum::test
