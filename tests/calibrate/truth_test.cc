// Calibrates the calibrator: the probe runs on simulated devices whose truth is known, and the truth must
// lie in the reported 95 % intervals about as often as they claim.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "sim_probe.h"

namespace fulcrum {
namespace {

using test::probe;
using test::random_truth;
using test::small_plan;

constexpr std::uint64_t kDevices = 40;
// Of 40 intervals at 95 %, fewer than 34 hold the truth with probability 0.0034.
constexpr int kLeastHits = 34;

/// Hits by quantity, and which devices missed.
struct Coverage {
  std::map<std::string, int> hits;
  std::map<std::string, std::string> missed;

  void count(const std::string& what, bool hit, std::uint64_t seed) {
    hits[what] += hit ? 1 : 0;
    if (!hit) missed[what] += " " + std::to_string(seed);
  }
};

TEST(CalibratorTruth, LiesInItsIntervalsAsOftenAsTheyClaim) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kDevices; ++seed) {
    const SimTruth truth = random_truth(seed);
    const TierProfile tier = probe(truth, small_plan(seed)).tier;
    coverage.count("read", tier.read.interval().contains(truth.single), seed);
    coverage.count("set-up", tier.setup.interval().contains(test::true_setup(truth)), seed);
    coverage.count("sigma", tier.sigma.interval().contains(truth.sigma), seed);
    coverage.count("k", tier.k.interval().contains(truth.k), seed);
    coverage.count("write", tier.write.interval().contains(truth.write), seed);
    coverage.count("commit half", tier.commit_half.interval().contains(test::true_commit_half(truth)), seed);
    coverage.count("verdict", tier.verdict == Verdict::good, seed);
  }
  for (const auto& [what, hits] : coverage.hits) {
    EXPECT_GE(hits, kLeastHits) << what << " missed on devices" << coverage.missed[what];
    RecordProperty(what, hits);
    std::cout << what << ": " << hits << " of " << kDevices << '\n';
  }
}

// The other side: an interval that held the truth always would say nothing.
TEST(CalibratorTruth, IntervalsAreNarrow) {
  for (const std::uint64_t seed : {101U, 102U, 103U}) {
    const SimTruth truth = random_truth(seed);
    const TierProfile tier = probe(truth, small_plan(seed)).tier;
    EXPECT_LT((tier.read.high - tier.read.low) / truth.single, 0.08) << seed;
    EXPECT_LT((tier.setup.high - tier.setup.low) / test::true_setup(truth), 0.25) << seed;
    EXPECT_LT(tier.sigma.high - tier.sigma.low, 0.25) << seed;
  }
}

TEST(CalibratorTruth, ReadsBesideWritesSlowDownByWhatTheDeviceLoses) {
  SimTruth truth = test::plain_truth(7);
  truth.read_beside_write = 0.5;
  const TierProfile tier = probe(truth, small_plan(7)).tier;
  // Writes at half their rate are in flight for half of the time, and then reads run at half of their rate.
  EXPECT_NEAR(tier.read_during_writes.value, 0.75, 0.06);
  const TierProfile unmoved = probe(test::plain_truth(7), small_plan(7)).tier;
  EXPECT_NEAR(unmoved.read_during_writes.value, 1.0, 0.02);
}

TEST(CalibratorTruth, ALongWriteFindsTheWriteCache) {
  SimTruth truth = test::plain_truth(8);
  truth.write = 200_MBps;
  truth.write_drain = 50_MBps;
  truth.write_cache = 48_MiB;
  truth.noise = 0.03;
  calibrate::ProbePlan plan = small_plan(8);
  plan.ramp = 256_MiB;
  // Rest first, so that the ramp begins with an empty cache: earlier cells have filled it.
  plan.commits.clear();
  plan.write_sizes.clear();
  const TierProfile tier = probe(truth, plan).tier;
  ASSERT_TRUE(tier.ramp.has_value());
  EXPECT_NEAR(tier.ramp->burst.value / truth.write, 1, 0.1);
  EXPECT_NEAR(tier.ramp->sustained.value / truth.write_drain, 1, 0.1);
  // It drains while it fills: 48 MiB are gone after 48 / (1 - 50/200) = 64 MiB.
  EXPECT_NEAR(tier.ramp->burst_bytes / 64_MiB, 1, 0.1);
  EXPECT_EQ(tier.write.value, tier.ramp->sustained.value);
}

TEST(CalibratorTruth, EqualSeedsGiveEqualProfiles) {
  const auto first = probe(random_truth(9), small_plan(9));
  const auto second = probe(random_truth(9), small_plan(9));
  EXPECT_EQ(first.samples.csv("x"), second.samples.csv("x"));
  EXPECT_EQ(first.tier.read, second.tier.read);
  EXPECT_EQ(first.tier.k, second.tier.k);
}

}  // namespace
}  // namespace fulcrum
