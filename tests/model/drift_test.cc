// Drift: how fast it follows, how little it flaps, and that it comes back.
#include "model/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"

namespace fulcrum {
namespace {

constexpr double kSigma = 0.2;  // of log(time): one load in three is off by more than a fifth

/// A tier whose loads take `slowdown` times as long as predicted, with noise.
class Loads {
 public:
  explicit Loads(std::uint64_t seed, double sigma = kSigma) : random_(seed), sigma_(sigma) {}

  void give(double slowdown, int loads) {
    for (int i = 0; i < loads; ++i) {
      const Seconds predicted(0.01 + random_.uniform());
      const Seconds observed = predicted * (slowdown * std::exp(sigma_ * random_.normal()));
      const double before = drift.factor();
      drift.observe(predicted, observed, now);
      now += gap;
      if (drift.factor() != before) ++moves;
    }
  }
  /// Nobody asks for this tier.
  void rest(double seconds) {
    for (const Seconds end = now + Seconds(seconds); now < end; now += Seconds(10)) drift.pass(now);
  }
  [[nodiscard]] double off(double truth) const { return std::abs(std::log(drift.factor() / truth)); }

  Drift drift;
  Seconds now{};
  Seconds gap{1};
  int moves = 0;

 private:
  Random random_;
  double sigma_;
};

TEST(Drift, BeginsWithTheProfile) {
  const Drift drift;
  EXPECT_EQ(drift.factor(), 1);
  EXPECT_EQ(drift.samples(), 0);
  EXPECT_EQ(drift.alarm(), "");
}

TEST(Drift, SettlesWithinTenLoadsAtAnyLevelAndComesBackInTen) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    for (const double slowdown : {2.0, 10.0, 100.0, 0.5, 0.1}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(slowdown) + " times");
      Loads loads(seed);
      loads.give(1, 50);
      loads.give(slowdown, 10);
      EXPECT_LT(loads.off(slowdown), 0.45);
      loads.give(slowdown, 50);
      EXPECT_LT(loads.off(slowdown), 0.35);
      loads.give(1, 10);
      EXPECT_LT(loads.off(1), 0.45);
      loads.give(1, 50);
      EXPECT_LT(loads.off(1), 0.35);
    }
  }
}

TEST(Drift, NoiseDoesNotMakeItFlap) {
  for (const double sigma : {0.05, 0.2, 0.5}) {
    for (const double slowdown : {1.0, 3.0}) {
      int moves = 0;
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Loads loads(seed, sigma);
        loads.give(slowdown, 1000);
        moves += loads.moves;
        EXPECT_LT(loads.off(slowdown), 0.6) << "seed " << seed;
      }
      EXPECT_LE(moves, 20 * 10) << "one move in a hundred loads, sigma " << sigma;
    }
  }
}

TEST(Drift, FollowsASawToothWithoutMovingAtEveryLoad) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Loads loads(seed);
    double error = 0;
    double uncorrected = 0;
    constexpr int kTeeth = 10;
    constexpr int kSteps = 60;
    for (int tooth = 0; tooth < kTeeth; ++tooth) {
      for (int step = 0; step < kSteps; ++step) {
        const double truth = std::pow(8.0, static_cast<double>(step) / kSteps);  // 1 to 8, then back at once
        error += loads.off(truth);
        uncorrected += std::log(truth);
        loads.give(truth, 1);
      }
    }
    EXPECT_LT(error, 0.45 * uncorrected);
    EXPECT_LT(loads.moves, kTeeth * kSteps / 3);
  }
}

TEST(Drift, ASquareWaveIsFollowedToBothLevels) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Loads loads(seed);
    for (int i = 0; i < 20; ++i) {
      const double truth = i % 2 == 0 ? 1 : 4;
      loads.give(truth, 15);
      EXPECT_LT(loads.off(truth), 0.5) << "half wave " << i;
    }
    EXPECT_LE(loads.moves, 20 * 5);
  }
}

TEST(Drift, OneOutlierMovesNothingHoweverFarOutItIs) {
  for (const double outlier : {1e-12, 0.01, 100.0, 1e12}) {
    for (const double level : {1.0, 5.0}) {
      Loads loads(3, 0.1);
      loads.give(level, 200);
      const double before = loads.drift.factor();
      loads.drift.observe(Seconds(1), Seconds(outlier), loads.now);
      EXPECT_EQ(loads.drift.factor(), before) << outlier;
      loads.give(level, 20);
      loads.drift.observe(Seconds(1), Seconds(outlier), loads.now);
      EXPECT_LT(loads.off(level), 0.35) << outlier;
    }
  }
}

TEST(Drift, AnOutlierInAFreshLevelDoesNotBecomeTheLevel) {
  Loads loads(5, 0.05);
  loads.give(1, 50);
  loads.give(3, 2);
  loads.drift.observe(Seconds(1), Seconds(1000), loads.now);
  EXPECT_LT(loads.drift.factor(), 4);
  loads.give(3, 5);
  EXPECT_LT(loads.off(3), 0.3);
}

TEST(Drift, ALoadNeverMovesTheFactorAwayFromItself) {
  Random random(11);
  for (int round = 0; round < 50; ++round) {
    Drift drift;
    double level = 0;
    Seconds now{};
    for (int i = 0; i < 400; ++i) {
      if (random.below(30) == 0) level = 14 * random.uniform() - 7;
      const double x = level + (0.05 + random.uniform()) * random.normal();
      const double before = std::log(drift.factor());
      drift.observe(Seconds(1), Seconds(std::exp(x)), now += Seconds(1));
      const double moved = std::log(drift.factor()) - before;
      ASSERT_TRUE(moved == 0 || moved * (x - before) > 0) << "round " << round << " load " << i;
      ASSERT_GE(drift.factor(), 1.0 / 1024 * (1 - 1e-9));
      ASSERT_LE(drift.factor(), 1024 * (1 + 1e-9));
    }
  }
}

TEST(Drift, SlowerTiersGetLargerFactors) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    double last = 0;
    for (int power = -6; power <= 6; ++power) {
      const double slowdown = std::exp2(power);
      Loads loads(seed);  // the same noise for each
      loads.give(1, 30);
      loads.give(slowdown, 60);
      EXPECT_GT(loads.drift.factor(), last) << "seed " << seed << ", " << slowdown << " times";
      last = loads.drift.factor();
    }
  }
}

TEST(Drift, ValuesThatAreNoTimesAreIgnored) {
  Drift drift;
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, none, infinite}) {
    for (int i = 0; i < 20; ++i) {
      drift.observe(Seconds(bad), Seconds(1), Seconds(i));
      drift.observe(Seconds(1), Seconds(bad), Seconds(i));
      drift.observe_unfinished(Seconds(1), Seconds(bad), Seconds(i));
    }
  }
  EXPECT_EQ(drift.factor(), 1);
  EXPECT_EQ(drift.samples(), 0);
}

TEST(Drift, LoadsThatAreGivenUpTeachThatTheTierIsSlow) {
  Drift drift;
  for (int i = 0; i < 10; ++i) drift.observe_unfinished(Seconds(0.1), Seconds(2), Seconds(i));
  EXPECT_GT(drift.factor(), 10) << "a hundred times slower, and stopped at twenty: at least that is known";
  Drift fine;
  for (int i = 0; i < 50; ++i) fine.observe_unfinished(Seconds(1), Seconds(0.2), Seconds(i));
  EXPECT_EQ(fine.factor(), 1) << "given up early says nothing";
}

TEST(Drift, ATierThatNobodyAsksIsTriedAgain) {
  for (const double slowdown : {2.0, 10.0, 100.0}) {
    Loads loads(2);
    loads.give(1, 20);
    loads.give(slowdown, 20);
    const double slow = loads.drift.factor();
    loads.rest(100);
    EXPECT_EQ(loads.drift.factor(), slow) << "not at once";
    loads.rest(1800);
    EXPECT_EQ(loads.drift.factor(), 1);
    loads.give(1, 30);
    EXPECT_LT(loads.off(1), 0.3) << "and it is well again";
  }
}

TEST(Drift, ATrialThatFailsTakesOneLoadAndIsRarerNextTime) {
  Loads loads(4, 0.1);
  loads.give(1, 20);
  loads.give(10, 20);
  int trials = 0;
  for (int step = 0; step < 8640; ++step) {  // a day
    loads.rest(10);
    if (loads.drift.factor() > 4) continue;  // too slow to be asked
    loads.give(10, 1);
    ++trials;
    EXPECT_LT(loads.off(10), 0.3) << "trial " << trials;
  }
  EXPECT_GE(trials, 10) << "it does not give up";
  EXPECT_LE(trials, 40);
}

TEST(Drift, TheAlarmTellsALastingChangeAndNoBadMinute) {
  Loads loads(6, 0);
  loads.give(1, 100);
  loads.give(3, 60);
  EXPECT_EQ(loads.drift.alarm(), "") << "a minute";
  loads.give(1, 100);
  EXPECT_EQ(loads.drift.alarm(), "");
  loads.give(3, 12 * 60 + 30);
  EXPECT_EQ(loads.drift.alarm(), "loads take 3.0 times as long as measured, for 12 min");
  loads.give(0.25, 200);
  EXPECT_EQ(loads.drift.alarm(), "loads are 4.0 times as fast as measured, for 3 min");
  loads.give(1, 100);
  EXPECT_EQ(loads.drift.alarm(), "") << "and says when it is over";
}

}  // namespace
}  // namespace fulcrum
