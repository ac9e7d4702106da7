#include "calibrate/stats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "calibrate/steady_state.h"
#include "fulcrum/units.h"

namespace fulcrum::calibrate {
namespace {

TEST(Stats, QuantilesInterpolate) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.75);
  EXPECT_EQ(median({}), 0);
}

TEST(Stats, AFewValuesKeepTheirWholeRange) {
  const std::vector<double> values = {5, 9, 7};
  EXPECT_EQ(median_interval(values), (Interval<double>{5, 9}));
}

// The law: over many draws, the interval holds the true median as often as it claims, whatever the count.
TEST(Stats, MedianIntervalsCoverTheTruth) {
  constexpr int kTrials = 2000;
  for (const std::size_t count : {6U, 7U, 10U, 23U, 150U}) {
    Random random(20);
    int hits = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(count);
      for (double& value : values) value = std::exp(0.3 * random.normal());
      if (median_interval(values).contains(1.0)) ++hits;
    }
    // 95 % and three standard deviations of 2,000 trials on either side.
    EXPECT_NEAR(hits, kTrials * 0.95, 3 * std::sqrt(kTrials * 0.95 * 0.05)) << count << " values";
  }
}

TEST(Stats, ManyThousandValuesHaveAnIntervalToo) {
  std::vector<double> values(20000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const Interval<double> range = median_interval(values);
  EXPECT_NEAR((range.high - range.low) / 2, 1.96 * std::sqrt(20000.0) / 2, 2);
}

TEST(Stats, TheBootstrapResamplesEachGroupWithinItself) {
  const Groups groups = {{1, 1, 1}, {100, 100}};
  const auto intervals = bootstrap(
      groups,
      [](const Groups& g) {
        return std::vector{median(g[0]), median(g[1])};
      },
      1);
  ASSERT_EQ(intervals.size(), 2U);
  EXPECT_EQ(intervals[0], (Interval<double>{1, 1}));
  EXPECT_EQ(intervals[1], (Interval<double>{100, 100}));
}

TEST(Stats, AWideIntervalIsNoisyAndNoValuesAreInvalid) {
  const std::vector<double> wide = {1, 2, 3};
  EXPECT_EQ(measure<BytesPerSecond>(wide, 0.03).verdict, Verdict::noisy);
  const std::vector<double> narrow = {100, 101, 102};
  EXPECT_EQ(measure<BytesPerSecond>(narrow, 0.03).verdict, Verdict::good);
  EXPECT_EQ(measure<BytesPerSecond>(std::vector<double>{}, 0.03).verdict, Verdict::invalid);
}

std::vector<double> noisy_series(std::size_t count, double level, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> series(count);
  for (double& value : series) value = level * (1 + noise * random.normal());
  return series;
}

TEST(SteadyState, ALevelIsSteadyAndASlopeIsNot) {
  EXPECT_TRUE(steadiness(noisy_series(10, 100, 0.02, 1)).steady);
  std::vector<double> falling;
  falling.reserve(10);
  for (int i = 0; i < 10; ++i) falling.push_back(100 - 1.5 * i);
  const Steadiness slope = steadiness(falling);
  EXPECT_FALSE(slope.steady);
  EXPECT_NEAR(slope.drift_share, -13.5 / 93.25, 1e-9);
  std::vector<double> spread = noisy_series(10, 100, 0, 1);
  spread[4] = 130;
  EXPECT_FALSE(steadiness(spread).steady) << "one value far off is no steady state";
}

TEST(SteadyState, FindsAStepWhereItIs) {
  auto series = noisy_series(30, 100, 0.03, 5);
  for (std::size_t i = 18; i < series.size(); ++i) series[i] *= 0.7;
  const auto change = find_change(series, 0.1, 1);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->index, 18U);
  EXPECT_NEAR(change->after / change->before, 0.7, 0.05);
}

TEST(SteadyState, NoiseAloneIsRarelyAStep) {
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    if (find_change(noisy_series(30, 100, 0.15, seed), 0.05, seed)) ++alarms;
  }
  EXPECT_LE(alarms, 5);
}

TEST(SteadyState, AStepTooSmallToMatterIsNone) {
  auto series = noisy_series(30, 100, 0.001, 5);
  for (std::size_t i = 15; i < series.size(); ++i) series[i] *= 0.95;
  EXPECT_FALSE(find_change(series, 0.1, 1).has_value());
  EXPECT_TRUE(find_change(series, 0.02, 1).has_value());
}

}  // namespace
}  // namespace fulcrum::calibrate
