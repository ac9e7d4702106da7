// Calibrates the calibrator: the probe runs on simulated devices whose truth is known, and the truth must
// lie in the reported 95 % intervals about as often as they claim.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "sim_probe.h"

namespace fulcrum {
namespace {

using test::probe;
using test::random_truth;
using test::small_plan;
using test::tiny_plan;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kDevices = 60;
#else
constexpr std::size_t kDevices = 300;
#endif
constexpr double kClaim = 0.95;
constexpr std::array<std::string_view, 6> kQuantities = {"read", "set-up", "sigma",
                                                         "k",    "write",  "commit half"};

/// An interval and what it should hold.
struct Claim {
  double low = 0;
  double high = 0;
  double truth = 0;

  /// Whether it would, were it `share` as wide around the same middle.
  [[nodiscard]] bool holds(double share) const {
    return std::abs(truth - (low + high) / 2) <= share * (high - low) / 2;
  }
};

struct Outcome {
  std::array<Claim, kQuantities.size()> claims;
  Verdict verdict = Verdict::invalid;
};

template <class T>
Claim claim(const Measured<T>& measured, T truth) {
  if constexpr (std::is_same_v<T, double>) {
    return {measured.low, measured.high, truth};
  } else {
    const auto raw = [](T x) { return static_cast<double>(x.value()); };
    return {raw(measured.low), raw(measured.high), raw(truth)};
  }
}

Outcome calibrate_one(std::uint64_t seed) {
  const SimTruth truth = random_truth(seed);
  const TierProfile tier = probe(truth, tiny_plan(seed)).tier;
  return {{claim(tier.read, test::true_rate(truth, tier.io_size, tier.depth)),
           claim(tier.setup, test::true_setup(truth)), claim(tier.sigma, truth.sigma), claim(tier.k, truth.k),
           claim(tier.write, truth.write), claim(tier.commit_half, test::true_commit_half(truth))},
          tier.verdict};
}

std::vector<Outcome> calibrate_all() {
  std::vector<Outcome> outcomes(kDevices);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < kDevices; i = next++) outcomes[i] = calibrate_one(i + 1);
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) workers.emplace_back(work);
  workers.clear();
  return outcomes;
}

/// Fewest hits in `count` that intervals at the claimed rate fall short of with a probability under 1 %.
int least_hits(std::size_t count) {
  const auto n = static_cast<double>(count);
  double log_share = n * std::log(1 - kClaim);
  double below = std::exp(log_share);
  int hits = 0;
  for (; below < 0.01; ++hits) {
    log_share += std::log((n - hits) / (hits + 1) * kClaim / (1 - kClaim));
    below += std::exp(log_share);
  }
  return hits;
}

std::array<int, kQuantities.size()> hits_of(const std::vector<Outcome>& outcomes, double share) {
  std::array<int, kQuantities.size()> hits{};
  for (const Outcome& outcome : outcomes) {
    for (std::size_t q = 0; q < hits.size(); ++q) hits[q] += outcome.claims[q].holds(share) ? 1 : 0;
  }
  return hits;
}

int sum(const std::array<int, kQuantities.size()>& hits) {
  return std::accumulate(hits.begin(), hits.end(), 0);
}

// One test, because the devices are what costs time.
TEST(CalibratorTruth, LiesInItsIntervalsAsOftenAsTheyClaim) {
  const auto outcomes = calibrate_all();
  const auto hits = hits_of(outcomes, 1);
  for (std::size_t q = 0; q < hits.size(); ++q) {
    EXPECT_GE(hits[q], least_hits(kDevices)) << kQuantities[q] << ", of " << kDevices;
    std::cout << kQuantities[q] << ": " << hits[q] << " of " << kDevices << '\n';
  }
  constexpr std::size_t kAll = kDevices * kQuantities.size();
  EXPECT_GE(sum(hits), least_hits(kAll)) << "of " << kAll;
  EXPECT_LE(sum(hits), static_cast<int>(kAll) * 98 / 100) << "wider than they claim";
  const auto good = std::count_if(outcomes.begin(), outcomes.end(),
                                  [](const Outcome& outcome) { return outcome.verdict == Verdict::good; });
  EXPECT_GE(good, static_cast<std::ptrdiff_t>(kDevices * 95 / 100)) << "these devices mislead nobody";

  // Intervals that hold the truth in 90 of 100 cases are 1.645 / 1.960 as wide, and would be found out.
  EXPECT_LT(sum(hits_of(outcomes, 1.645 / 1.960)), least_hits(kAll));
}

// The other side: an interval that held the truth always would say nothing.
TEST(CalibratorTruth, IntervalsAreNarrow) {
  for (const std::uint64_t seed : {101U, 102U, 103U}) {
    const SimTruth truth = random_truth(seed);
    const TierProfile tier = probe(truth, tiny_plan(seed)).tier;
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

/// A cache that drains at 50 MB/s, and the plan that waits for it.
SimTruth caching_truth() {
  SimTruth truth = test::plain_truth(10);
  truth.write = 200_MBps;
  truth.write_drain = 50_MBps;
  truth.write_cache = 48_MiB;
  truth.noise = 0.03;
  return truth;
}

calibrate::ProbePlan waiting_plan() {
  calibrate::ProbePlan plan = small_plan(10);
  plan.ramp = 256_MiB;
  plan.rest_first = 20_ms;
  plan.rest_most = 10_s;
  plan.commits.clear();
  plan.write_sizes.clear();
  return plan;
}

TEST(CalibratorTruth, ARestedWriteCacheTakesItsBurstAgainAfterTheTimeItNeedsToDrain) {
  const TierProfile tier = probe(caching_truth(), waiting_plan()).tier;
  ASSERT_TRUE(tier.ramp.has_value());
  ASSERT_TRUE(tier.ramp->recovery.has_value());
  const Recovery& found = *tier.ramp->recovery;
  EXPECT_NEAR(found.burst / 8_MiB, 1, 0.15) << "an eighth of what the cache took";
  // It drains during the burst too: of its bytes, 1 - 50/200 must have become free before.
  const Seconds needed = found.burst / 50_MBps * 0.75;
  EXPECT_TRUE(found.rest.interval().contains(needed))
      << found.rest.low.value() << " to " << found.rest.high.value() << ", needed " << needed.value();
  EXPECT_LE(found.rest.high / found.rest.low, 1.51);
}

TEST(CalibratorTruth, ACacheThatRecoversTwiceAsSlowlyIsSeenTo) {
  SimTruth slow = caching_truth();
  slow.write_drain = 20_MBps;
  const auto quick = probe(caching_truth(), waiting_plan()).tier.ramp->recovery;
  const auto found = probe(slow, waiting_plan()).tier.ramp->recovery;
  ASSERT_TRUE(quick && found);
  EXPECT_GT(found->rest.low, quick->rest.high);
}

TEST(CalibratorTruth, ACacheThatIsNotWaitedForLongEnoughHasNoRecovery) {
  calibrate::ProbePlan hasty = waiting_plan();
  hasty.rest_most = 60_ms;
  const TierProfile tier = probe(caching_truth(), hasty).tier;
  ASSERT_TRUE(tier.ramp.has_value());
  EXPECT_FALSE(tier.ramp->recovery.has_value());
  EXPECT_TRUE(std::any_of(tier.findings.begin(), tier.findings.end(), [](const std::string& finding) {
    return finding.find("had not recovered") != std::string::npos;
  }));
  SimTruth without = caching_truth();
  without.write_cache = 0_B;
  EXPECT_FALSE(probe(without, waiting_plan()).tier.ramp->recovery.has_value())
      << "no cache, nothing to wait for";
}

TEST(CalibratorTruth, EqualSeedsGiveEqualProfiles) {
  const auto first = probe(random_truth(9), tiny_plan(9));
  const auto second = probe(random_truth(9), tiny_plan(9));
  EXPECT_EQ(first.samples.csv("x"), second.samples.csv("x"));
  EXPECT_EQ(first.tier.read, second.tier.read);
  EXPECT_EQ(first.tier.k, second.tier.k);
}

}  // namespace
}  // namespace fulcrum
