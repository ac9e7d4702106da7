// Devices that mislead: each must get the verdict that it deserves, and an honest one must not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim_probe.h"

namespace fulcrum {
namespace {

using calibrate::PayloadKind;
using test::plain_truth;
using test::probe;
using test::small_plan;

bool says(const TierProfile& tier, const std::string& words) {
  return std::any_of(tier.findings.begin(), tier.findings.end(),
                     [&](const std::string& finding) { return finding.find(words) != std::string::npos; });
}

TEST(Liar, AnHonestDeviceIsGood) {
  const TierProfile tier = probe(plain_truth(1), small_plan(1)).tier;
  EXPECT_EQ(tier.verdict, Verdict::good);
  EXPECT_TRUE(tier.findings.empty()) << tier.findings.front();
}

TEST(Liar, APageCacheIsCaughtByTheCounters) {
  SimTruth truth = plain_truth(2);
  truth.page_cache = 64_MiB;  // holds the whole file, and nothing drops it
  truth.drop_works = false;
  const TierProfile tier = probe(truth, small_plan(2)).tier;
  EXPECT_EQ(tier.verdict, Verdict::cached);
  EXPECT_TRUE(says(tier, "fetched"));
  EXPECT_GT(tier.read.value, truth.single * 2.0) << "otherwise the cache hid nothing";
}

TEST(Liar, ACacheBelowTheCountersIsCaughtByReadingAgain) {
  SimTruth truth = plain_truth(3);
  truth.page_cache = 8_MiB;  // a quarter of the file
  truth.drop_works = false;
  truth.evidence_lies = true;
  const TierProfile tier = probe(truth, small_plan(3)).tier;
  EXPECT_EQ(tier.verdict, Verdict::cached);
  EXPECT_TRUE(says(tier, "read again"));
}

TEST(Liar, BufferedReadsAreCachedUnlessTheCountersShowTheMedium) {
  SimTruth truth = plain_truth(4);
  truth.mode.direct = false;
  truth.page_cache = 64_MiB;
  truth.drop_works = false;
  EXPECT_EQ(probe(truth, small_plan(4)).tier.verdict, Verdict::cached);
  truth.drop_works = true;  // dropped before every read: now the medium answers, and the counters say so
  const TierProfile shown = probe(truth, small_plan(4)).tier;
  EXPECT_EQ(shown.verdict, Verdict::good);
  EXPECT_NEAR(shown.read.value / truth.single, 1, 0.05);
}

TEST(Liar, ADeviceThatCompressesGainsNothingFromOurData) {
  SimTruth truth = plain_truth(5);
  truth.constant_speedup = 4;
  const TierProfile tier = probe(truth, small_plan(5)).tier;
  EXPECT_EQ(tier.verdict, Verdict::good);
  EXPECT_NEAR(tier.read.value / truth.single, 1, 0.03);
  EXPECT_NEAR(tier.write.value / truth.write, 1, 0.03);
}

TEST(Liar, ADeviceThatCompressesWouldFoolAProbeThatWritesZeros) {
  SimTruth truth = plain_truth(5);
  truth.constant_speedup = 4;
  calibrate::ProbePlan careless = small_plan(5);
  careless.payload = PayloadKind::constant;
  const TierProfile tier = probe(truth, careless).tier;
  EXPECT_GT(tier.read.value / truth.single, 2);
  EXPECT_EQ(tier.verdict, Verdict::good) << "and it would not even notice";
}

TEST(Liar, ThrottlingAfterFiveSecondsIsNoticed) {
  SimTruth truth = plain_truth(6);
  truth.throttle_after = 5_s;
  truth.throttle_share = 0.6;
  calibrate::ProbePlan plan = small_plan(6);
  plan.window.length = 0.06_s;  // long enough for the fifth second to fall into the reads
  plan.loads = {1, 2, 4};
  const TierProfile tier = probe(truth, plan).tier;
  EXPECT_EQ(tier.verdict, Verdict::throttled);
  EXPECT_TRUE(says(tier, "slowed down"));
}

TEST(Liar, AnUnsteadyDeviceIsNoisy) {
  SimTruth truth = plain_truth(7);
  truth.mood = 0.35;
  truth.mood_time = 30_ms;
  const TierProfile tier = probe(truth, small_plan(7)).tier;
  EXPECT_EQ(tier.verdict, Verdict::noisy);
  EXPECT_GT((tier.read.high - tier.read.low) / tier.read.value, 0.06);
}

TEST(Liar, AProcessorThatCannotKeepUpIsNamedAsTheLimit) {
  SimTruth truth = plain_truth(8);
  truth.single = 2_GBps;  // faster than one request of 16 KiB every 100 us
  truth.lane = 2_GBps;
  truth.submit_cost = 100_us;
  calibrate::ProbePlan plan = small_plan(8);
  plan.io_sizes = {16_KiB};
  const TierProfile tier = probe(truth, plan).tier;
  EXPECT_EQ(tier.verdict, Verdict::cpu_bound);
  EXPECT_LT(tier.read.value, truth.single / 2.0);
}

}  // namespace
}  // namespace fulcrum
