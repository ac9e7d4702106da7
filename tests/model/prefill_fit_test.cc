// The fit finds what was planted, and its intervals hold what they claim to hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/clock.h"
#include "fulcrum/cost.h"
#include "model/quantile.h"
#include "tests/model/planted.h"

namespace fulcrum {
namespace {

using test::planted_law;
using test::timings;

constexpr int kRepetitions = 800;

/// Share of intervals that held the truth, over seeded repetitions. `scale` shrinks every interval around
/// its middle: a mutant that claims to know more than it does.
struct Coverage {
  double observation = 0;  ///< predict() held a new observation
  double alpha = 0;        ///< the draws held the planted alpha, beta and mean time
  double beta = 0;
  double time = 0;
};

bool holds(double low, double high, double scale, double truth) {
  const double middle = (low + high) / 2;
  return std::abs(truth - middle) <= scale * (high - low) / 2;
}

template <class Value>
bool draws_hold(const PrefillCost& cost, double scale, double truth, Value value) {
  std::vector<double> values;
  PrefillLaw law = cost.law;
  for (const auto& theta : cost.draws) {
    law.theta = theta;
    values.push_back(value(law));
  }
  return holds(sample_quantile(values, 0.025), sample_quantile(values, 0.975), scale, truth);
}

Coverage coverage(double noise, double scale) {
  const PrefillLaw truth = planted_law();
  const Tokens fresh(6000);
  const Tokens cached(20000);
  Coverage held;
  for (int i = 0; i < kRepetitions; ++i) {
    Random random = Random(static_cast<std::uint64_t>(i)).split("coverage");
    const auto samples = timings(truth, noise, 3, random);
    const auto fit = fit_prefill(samples, {.seed = static_cast<std::uint64_t>(i)});
    EXPECT_TRUE(fit.has_value());
    if (!fit.has_value()) return held;
    const double seen = truth.time(fresh, cached).value() * (1 + noise * random.normal());
    const auto observation = fit->predict(fresh, cached);
    const auto mean = fit->expected(fresh, cached);
    held.observation += holds(observation.low.value(), observation.high.value(), scale, seen);
    held.time += holds(mean.low.value(), mean.high.value(), scale, truth.time(fresh, cached).value());
    held.alpha += draws_hold(*fit, scale, truth.alpha(), [](const PrefillLaw& law) { return law.alpha(); });
    held.beta += draws_hold(*fit, scale, truth.beta(), [](const PrefillLaw& law) { return law.beta(); });
  }
  return {held.observation / kRepetitions, held.alpha / kRepetitions, held.beta / kRepetitions,
          held.time / kRepetitions};
}

/// Intervals that hold the truth in 95 of 100 cases fall short of this share with a probability of 1 %.
double least_share() {
  return 0.95 - 2.33 * std::sqrt(0.95 * 0.05 / kRepetitions);
}

class PrefillFitCoverage : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Noise, PrefillFitCoverage, testing::Values(0.02, 0.05));

TEST_P(PrefillFitCoverage, HoldsTheTruthAtTheClaimedRate) {
  const Coverage held = coverage(GetParam(), 1.0);
  for (const double share : {held.observation, held.alpha, held.beta, held.time}) {
    EXPECT_GE(share, least_share()) << "observation " << held.observation << " alpha " << held.alpha
                                    << " beta " << held.beta << " time " << held.time;
    EXPECT_LE(share, 0.985) << "intervals that hardly miss are too wide to decide by";
  }
}

TEST_P(PrefillFitCoverage, ExposesIntervalsOfThreeQuartersOfTheWidth) {
  const Coverage held = coverage(GetParam(), 0.75);
  EXPECT_LT(held.observation, least_share());
  EXPECT_LT(held.alpha, least_share());
  EXPECT_LT(held.beta, least_share());
  EXPECT_LT(held.time, least_share());
}

TEST(PrefillFit, FindsPlantedCoefficientsExactlyWithoutNoise) {
  Random random(1);
  const PrefillLaw truth = planted_law();
  const auto fit = fit_prefill(timings(truth, 0, 1, random), {});
  ASSERT_TRUE(fit.has_value()) << fit.error().message();
  for (std::size_t i = 0; i < PrefillLaw::kTerms; ++i) {
    EXPECT_NEAR(fit->law.theta[i], truth.theta[i], 1e-7 * (truth.theta[i] + truth.theta[2])) << "theta" << i;
  }
  EXPECT_LT(fit->residual, 1e-9);
  EXPECT_EQ(fit->domain, Tokens(65536));
  EXPECT_EQ(fit->verdict, Verdict::good);
}

TEST(PrefillFit, FindsChunkCostsWhenTheServerWorksInChunks) {
  Random random(2);
  PrefillLaw truth = planted_law();
  truth.chunk_tokens = 2048;
  truth.theta = {8e-3, 0, 27e-6, 0.8e-9, 120e-9, 0};
  const auto fit = fit_prefill(timings(truth, 0.01, 5, random), {.chunk_tokens = 2048});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->law.alpha() / truth.alpha(), 1, 0.05);
  EXPECT_NEAR(fit->law.beta() / truth.beta(), 1, 0.05);
}

TEST(PrefillFit, KeepsTimeFromFallingAtAnyNoise) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const auto fit = fit_prefill(timings(planted_law(), 0.2, 1, random), {.seed = seed});
    ASSERT_TRUE(fit.has_value());
    EXPECT_LE(fit->law.theta[5], fit->law.theta[2]) << "seed " << seed;
    for (const auto& theta : fit->draws) {
      for (const double coefficient : theta) ASSERT_GE(coefficient, 0) << "seed " << seed;
      ASSERT_LE(theta[5], theta[2]) << "seed " << seed;
    }
  }
}

TEST(PrefillFit, IsHardlyMovedByOneWildSample) {
  Random random(3);
  auto samples = timings(planted_law(), 0.02, 3, random);
  samples[11].time = samples[11].time * 4;  // a compilation, a preemption
  const auto fit = fit_prefill(samples, {});
  ASSERT_TRUE(fit.has_value());
  const Tokens fresh(4096);
  EXPECT_NEAR(fit->time(fresh, Tokens(0)) / planted_law().time(fresh, Tokens(0)), 1, 0.03);
  EXPECT_LT(fit->residual, 0.05);
}

TEST(PrefillFit, CallsScatteredSamplesNoisy) {
  Random random(4);
  const auto fit = fit_prefill(timings(planted_law(), 0.25, 2, random), {});
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->verdict, Verdict::noisy);
}

TEST(PrefillFit, WidensItsIntervalsWhenSamplesAreFew) {
  Random random(5);
  const auto all = timings(planted_law(), 0.02, 3, random);
  const std::vector<PrefillSample> few = {all[1], all[2], all[3]};
  const auto narrow = fit_prefill(all, {});
  const auto wide = fit_prefill(few, {});
  ASSERT_TRUE(narrow.has_value() && wide.has_value());
  const auto width = [](const PrefillCost& cost) {
    const auto range = cost.predict(Tokens(8192), Tokens(0));
    return (range.high - range.low).value();
  };
  EXPECT_GT(width(*wide), width(*narrow));
}

TEST(PrefillFit, TakesLessThanATwentiethOfASecond) {
  Random random(6);
  const auto samples = timings(planted_law(), 0.02, 3, random);
  const SteadyClock clock;
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    const Seconds start = clock.now();
    ASSERT_TRUE(fit_prefill(samples, {}).has_value());
    best = std::min(best, (clock.now() - start).value());
  }
  EXPECT_LT(best, 0.05);
}

TEST(PrefillFit, IsTheSameForTheSameSeed) {
  Random random(7);
  const auto samples = timings(planted_law(), 0.02, 1, random);
  const auto one = fit_prefill(samples, {.seed = 9});
  const auto same = fit_prefill(samples, {.seed = 9});
  const auto other = fit_prefill(samples, {.seed = 10});
  ASSERT_TRUE(one.has_value() && same.has_value() && other.has_value());
  EXPECT_EQ(one->draws, same->draws);
  EXPECT_NE(one->draws, other->draws);
  EXPECT_EQ(one->law.theta, other->law.theta);
}

TEST(PrefillFit, NamesTheSampleThatIsWrong) {
  Random random(8);
  const auto good = timings(planted_law(), 0.02, 1, random);
  for (const double seconds : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    auto samples = good;
    samples[4].time = Seconds(seconds);
    const auto fit = fit_prefill(samples, {});
    ASSERT_TRUE(fit.has_error()) << seconds;
    EXPECT_EQ(fit.error().kind, ErrorKind::bad_input);
    EXPECT_NE(fit.error().message().find("sample 5"), std::string::npos) << fit.error().message();
  }
  const auto few = fit_prefill(std::vector<PrefillSample>{good[0], good[1], good[1]}, {});
  ASSERT_TRUE(few.has_error());
  EXPECT_NE(few.error().message().find("2 different"), std::string::npos) << few.error().message();
}

}  // namespace
}  // namespace fulcrum
