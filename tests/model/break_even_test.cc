// P* and B*(p): closed forms against a search, corner cases, and intervals that hold the truth.
#include <gtest/gtest.h>

#include <cmath>

#include "fulcrum/cost.h"
#include "tests/model/planted.h"

namespace fulcrum {
namespace {

/// What loading costs beyond the lead, less what it saves.
double loss(double alpha, double beta, double s, double wait, double prefix) {
  return wait + s * prefix - alpha * prefix - beta * prefix * prefix / 2;
}

Measured<Seconds> seconds(double value, double spread) {
  return {Seconds(value), Seconds(value * (1 - spread)), Seconds(value * (1 + spread)), 9, Verdict::good};
}
Measured<BytesPerSecond> rate(double value, double spread) {
  return {BytesPerSecond(value), BytesPerSecond(value * (1 - spread)), BytesPerSecond(value * (1 + spread)),
          9, Verdict::good};
}

TEST(BreakEvenPrefix, IsTheFirstLengthThatPays) {
  Random random(1);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    const double alpha = 1e-5 * random.uniform();
    const double beta = round % 5 == 0 ? 0 : 1e-9 * random.uniform();
    const double s = 2e-5 * random.uniform();
    const double setup = 0.05 * random.uniform();
    const double lead = 0.05 * random.uniform();
    const double wait = std::max(0.0, setup - lead);
    const Tokens prefix = break_even_prefix(alpha, beta, s, Seconds(setup), Seconds(lead));
    double low = 0;
    double high = 1e12;
    if (loss(alpha, beta, s, wait, high) > 0) {
      EXPECT_EQ(prefix, kNever) << "round " << round;
      continue;
    }
    // Beyond its last zero the loss stays negative, and it is concave: bisection from the far end is safe.
    if (s <= alpha && wait == 0) high = 0;
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      (middle > 0 && loss(alpha, beta, s, wait, middle) <= 0 ? high : low) = middle;
    }
    EXPECT_NEAR(static_cast<double>(prefix.value()), std::ceil(high - 1e-6), 1 + 1e-9 * high)
        << "round " << round;
    ++found;
  }
  EXPECT_GT(found, 1000);
}

TEST(BreakEvenPrefix, KnowsItsCorners) {
  const double us = 1e-6;
  EXPECT_EQ(break_even_prefix(20 * us, 0, 10 * us, 1_ms), Tokens(100));         // beta = 0
  EXPECT_EQ(break_even_prefix(20 * us, 0, 20 * us, 1_ms), kNever);              // s = alpha, nothing gained
  EXPECT_EQ(break_even_prefix(20 * us, 0, 30 * us, 0_ms), kNever);              // slower than computing
  EXPECT_EQ(break_even_prefix(20 * us, 2e-9, 20 * us, 1_ms), Tokens(1000));     // s = alpha: sqrt(2l/beta)
  EXPECT_EQ(break_even_prefix(20 * us, 2e-9, 10 * us, 1_ms, 2_ms), Tokens(0));  // lead > set-up
  EXPECT_EQ(break_even_prefix(20 * us, 2e-9, 30 * us, 1_ms, 1_ms), Tokens(10000));  // 2(s - alpha)/beta
  EXPECT_EQ(break_even_prefix(0, 1e-30, 30 * us, 1_ms), kNever);                    // beyond any prompt
}

TEST(BreakEvenPrefix, HasTheWorkedValuesOfTheDocumentation) {
  // 8B on one H100: alpha 25.7 us, beta 0.96 ns, kappa 128 KiB.
  const auto prefix = [](double rate, double setup) {
    return static_cast<double>(break_even_prefix(25.7e-6, 0.96e-9, 131072 / rate, Seconds(setup)).value());
  };
  EXPECT_NEAR(prefix(50e9, 0.5e-3), 22, 1);
  EXPECT_NEAR(prefix(6e9, 1e-3), 254, 10);
  EXPECT_NEAR(prefix(6e9, 100e-3), 11000, 300);
  EXPECT_NEAR(prefix(3e9, 10e-3), 38000, 500);
  EXPECT_NEAR(prefix(1e9, 30e-3), 219000, 2500);
}

TEST(BreakEvenBandwidth, IsWhereABlockCostsTheSameEitherWay) {
  const BytesPerToken kappa(131072);
  const double alpha = 25.7e-6;
  const double beta = 0.96e-9;
  EXPECT_NEAR(break_even_bandwidth(kappa, alpha, beta, Tokens(0)).value(), 5.1e9, 0.05e9);
  for (const int p : {0, 1000, 32768, 131072}) {
    const BytesPerSecond needed = break_even_bandwidth(kappa, alpha, beta, Tokens(p));
    EXPECT_NEAR(kappa.value() / needed.value(), alpha + beta * p, 1e-15);
  }
}

TEST(BreakEvenBandwidth, IsOutOfReachWhereATokenCostsNothing) {
  EXPECT_GE(break_even_bandwidth(BytesPerToken(131072), 0, 1e-9, Tokens(0)).value(), 1e18);
  PrefillCost cost;
  cost.law.theta = {1e-3, 0, 0, 1e-9, 0, 0};
  EXPECT_GE(bandwidth_needed(cost, BytesPerToken(131072), Tokens(0)).value.value(), 1e18);
}

TEST(BreakEven, HoldsTheTruthAtTheClaimedRate) {
  const PrefillLaw truth = test::planted_law();
  const BytesPerToken kappa(131072);
  const double speed = 3.2e9;
  const double setup = 8e-3;
  const Tokens true_prefix =
      break_even_prefix(truth.alpha(), truth.beta(), kappa.value() / speed, Seconds(setup));
  constexpr int kRepetitions = 240;
  int held = 0;
  int held_by_half = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    Random random = Random(static_cast<std::uint64_t>(i)).split("truth");
    const auto fit =
        fit_prefill(test::timings(truth, 0.02, 3, random), {.seed = static_cast<std::uint64_t>(i)});
    ASSERT_TRUE(fit.has_value());
    // Tier speeds as a calibration finds them: off by their own error, with the interval of that error.
    const double error = 0.015;
    const LoadTerms load{.kappa = kappa,
                         .setup = seconds(setup * (1 + error * random.normal()), 1.96 * error),
                         .rate = rate(speed * (1 + error * random.normal()), 1.96 * error)};
    const Measured<Tokens> found = break_even(*fit, load, static_cast<std::uint64_t>(i));
    ASSERT_LE(found.low, found.value);
    ASSERT_LE(found.value, found.high);
    held += found.interval().contains(true_prefix) ? 1 : 0;
    const auto half = [&found](Tokens end) { return Tokens((end.value() + found.value.value()) / 2); };
    held_by_half += half(found.low) <= true_prefix && true_prefix <= half(found.high) ? 1 : 0;
  }
  const double least = 0.95 - 3 * std::sqrt(0.95 * 0.05 / kRepetitions);
  EXPECT_GE(static_cast<double>(held) / kRepetitions, least);
  EXPECT_LT(static_cast<double>(held_by_half) / kRepetitions, least)
      << "the check must expose narrow intervals";
}

TEST(BreakEven, CarriesTheWorstVerdictAndTheFewestSamples) {
  Random random(2);
  const auto fit = fit_prefill(test::timings(test::planted_law(), 0.02, 1, random), {});
  ASSERT_TRUE(fit.has_value());
  LoadTerms load{.kappa = BytesPerToken(131072), .setup = seconds(1e-3, 0.1), .rate = rate(6e9, 0.1)};
  load.rate.verdict = Verdict::cached;
  load.rate.samples = 4;
  const Measured<Tokens> found = break_even(*fit, load);
  EXPECT_EQ(found.verdict, Verdict::cached);
  EXPECT_EQ(found.samples, 4);
}

TEST(BreakEven, SaysNeverWhereTheAttentionIsTooCheapToHelp) {
  PrefillCost cost;
  cost.law.theta = {0, 0, 25e-6, 0, 0, 0};
  const LoadTerms load{.kappa = BytesPerToken(131072), .setup = seconds(1e-3, 0.1), .rate = rate(1e9, 0.1)};
  const Measured<Tokens> found = break_even(cost, load);
  EXPECT_EQ(found.value, kNever);
  EXPECT_EQ(found.high, kNever);
}

TEST(BreakEven, ChargesFixedBytesOnce) {
  PrefillCost cost;
  cost.law.theta = {0, 0, 25e-6, 0, 0, 0};
  const LoadTerms plain{.kappa = BytesPerToken(65536), .setup = seconds(1e-3, 0), .rate = rate(6e9, 0)};
  LoadTerms windows = plain;
  windows.fixed = Bytes(60'000'000);  // 10 ms at that rate
  const double gain = 25e-6 - 65536 / 6e9;
  EXPECT_NEAR(static_cast<double>((break_even(cost, windows).value - break_even(cost, plain).value).value()),
              10e-3 / gain, 2);
}

TEST(BandwidthNeeded, FallsWithDepthAndHasAnInterval) {
  Random random(3);
  const auto fit = fit_prefill(test::timings(test::planted_law(), 0.02, 2, random), {});
  ASSERT_TRUE(fit.has_value());
  Measured<BytesPerSecond> before = bandwidth_needed(*fit, BytesPerToken(131072), Tokens(0));
  for (const int p : {1024, 4096, 16384, 32768, 65536, 131072}) {
    const auto next = bandwidth_needed(*fit, BytesPerToken(131072), Tokens(p));
    EXPECT_LT(next.value, before.value);
    EXPECT_LT(next.low, next.value);
    EXPECT_GT(next.high, next.value);
    before = next;
  }
}

}  // namespace
}  // namespace fulcrum
