// The simulated device against the laws that it claims to follow.
#include "replay/tier_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "tests/replay/machines.h"

namespace fulcrum::replay {
namespace {

constexpr Bytes kLoad{10'000'000};

std::map<std::uint64_t, double> run_to_idle(TierDevice& device) {
  std::map<std::uint64_t, double> finished_at;
  while (device.next() != TierDevice::kIdle) {
    const Seconds now = device.next();
    std::vector<std::uint64_t> finished;
    device.advance(now, finished);
    for (const std::uint64_t id : finished) finished_at[id] = now.value();
  }
  return finished_at;
}

TierProfile profile_with(double sigma, double k) {
  TierProfile profile = make_tier("flash", Medium::flash, 5_ms, 1_GBps);
  profile.sigma = Measured<double>::exact(sigma);
  profile.k = Measured<double>::exact(k);
  return profile;
}

TEST(TierDevice, TakesSetUpAndTransferForOneLoad) {
  const TierProfile profile = profile_with(0, 0);
  TierDevice device(profile, {}, Random(1));
  device.start_read(7, kLoad, Seconds(2));
  EXPECT_NEAR(run_to_idle(device).at(7), 2 + profile.transfer().time(kLoad).value(), 1e-12);
  EXPECT_EQ(device.bytes_read(), kLoad);
}

TEST(TierDevice, GivesEachOfNLoadsItsShareOfTheContentionLaw) {
  for (const auto& [sigma, k] : {std::pair{0.0, 0.0}, {1.0, 0.0}, {0.1, 0.018}}) {
    const TierProfile profile = profile_with(sigma, k);
    for (const int loads : {1, 2, 7, 32}) {
      TierDevice device(profile, {}, Random(1));
      for (int i = 0; i < loads; ++i) device.start_read(static_cast<std::uint64_t>(i), kLoad, Seconds(0));
      const double expected = profile.transfer().time(kLoad, loads - 1).value();
      for (const auto& [id, time] : run_to_idle(device)) EXPECT_NEAR(time, expected, 1e-9) << id;
      EXPECT_EQ(device.most_reads_at_once(), loads);
    }
  }
}

TEST(TierDevice, AgreesWithTheClosedFormOfFluidSharingForUnequalLoads) {
  const TierProfile profile = profile_with(0.2, 0.01);
  Random random(11);
  for (int round = 0; round < 50; ++round) {
    TierDevice device(profile, {}, Random(1));
    std::vector<Bytes> others;
    for (std::uint64_t id = 1; id <= 6; ++id) {
      others.emplace_back(1'000'000 + static_cast<std::int64_t>(random.below(50'000'000)));
      device.start_read(id, others.back(), Seconds(0));
    }
    device.start_read(0, kLoad, Seconds(0));
    const double expected = profile.transfer().finish(kLoad, others).value();
    EXPECT_NEAR(run_to_idle(device).at(0), expected, 1e-9) << "seed 11, round " << round;
  }
}

TEST(TierDevice, WritesQueueAndSlowReadsDown) {
  TierProfile profile = profile_with(0, 0);
  profile.setup = Measured<Seconds>::exact(Seconds(0));
  profile.read_during_writes = Measured<double>::exact(0.5);
  TierDevice device(profile, {}, Random(1));
  device.start_write(1, kLoad, Seconds(0));  // 10 ms each at 1 GB/s
  device.start_write(2, kLoad, Seconds(0));
  device.start_read(3, Bytes(15'000'000), Seconds(0));  // 20 ms at half speed, then 5 ms
  const auto finished = run_to_idle(device);
  EXPECT_NEAR(finished.at(1), 0.010, 1e-9);
  EXPECT_NEAR(finished.at(2), 0.020, 1e-9);
  EXPECT_NEAR(finished.at(3), 0.025, 1e-9);
  EXPECT_EQ(device.bytes_written(), kLoad * 2);
}

TEST(TierDevice, ACancelledLoadCountsWhatItMovedAndFreesItsShare) {
  TierProfile profile = profile_with(1, 0);
  profile.setup = Measured<Seconds>::exact(Seconds(0));
  TierDevice device(profile, {}, Random(1));
  device.start_read(1, kLoad, Seconds(0));
  device.start_read(2, kLoad, Seconds(0));
  std::vector<std::uint64_t> finished;
  device.advance(Seconds(0.010), finished);
  EXPECT_NEAR(device.cancel(1, Seconds(0.010)), 0.5, 1e-9);  // 5 MB of 10 MB at half the rate
  EXPECT_NEAR(run_to_idle(device).at(2), 0.015, 1e-9);       // the rest at the whole rate
  EXPECT_EQ(device.bytes_read(), Bytes(15'000'000));
  EXPECT_EQ(device.cancel(1, Seconds(1)), 0) << "a transfer that is over";
}

TEST(TierDevice, ReportsNoProgressDuringSetUpAndNeverGoesBack) {
  const TierProfile profile = profile_with(0, 0);
  TierDevice device(profile, {}, Random(1));
  device.start_read(1, kLoad, Seconds(0));
  std::vector<std::uint64_t> finished;
  EXPECT_EQ(device.progress(1, Seconds(0.004)), 0);
  double before = 0;
  for (int ms = 6; ms < 15; ++ms) {
    device.advance(Seconds(ms * 1e-3), finished);
    const double progress = device.progress(1, Seconds(ms * 1e-3));
    EXPECT_GT(progress, before);
    before = progress;
  }
  EXPECT_TRUE(finished.empty());
}

TEST(TierDevice, ASlowerTruthTakesAsMuchLonger) {
  const TierProfile profile = profile_with(0, 0);
  TierDevice device(profile, DeviceTruth{0.1, 2, 0}, Random(1));
  device.start_read(1, kLoad, Seconds(0));
  EXPECT_NEAR(run_to_idle(device).at(1), 0.010 + 0.100, 1e-9);
}

TEST(TierDevice, NoiseHasMedianOneAndIsTheSameForTheSameSeed) {
  TierProfile profile = profile_with(0, 0);
  profile.setup = Measured<Seconds>::exact(Seconds(0));
  std::vector<double> times;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    TierDevice a(profile, DeviceTruth{1, 1, 0.3}, Random(seed));
    TierDevice b(profile, DeviceTruth{1, 1, 0.3}, Random(seed));
    a.start_read(1, kLoad, Seconds(0));
    b.start_read(1, kLoad, Seconds(0));
    times.push_back(run_to_idle(a).at(1));
    EXPECT_EQ(times.back(), run_to_idle(b).at(1));
  }
  int slow = 0;
  for (const double time : times) slow += time > 0.010 ? 1 : 0;
  EXPECT_NEAR(slow, 200, 40) << "four deviations of a fair coin";
}

}  // namespace
}  // namespace fulcrum::replay
