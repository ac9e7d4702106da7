// Quantiles of the marginal price, and the straight line that a decider may use for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "fulcrum/cost.h"
#include "model/quantile.h"
#include "tests/model/planted.h"

namespace fulcrum {
namespace {

PrefillCost fitted(double noise, std::uint64_t seed, int repeats = 1) {
  Random random(seed);
  const auto fit = fit_prefill(test::timings(test::planted_law(), noise, repeats, random), {.seed = seed});
  EXPECT_TRUE(fit.has_value());
  return *fit;
}

TEST(Quantile, InvertsTheNormalDistribution) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-9);
  for (const double p : {1e-6, 0.05, 0.5, 0.9, 0.999999})
    EXPECT_NEAR(normal_cdf(normal_quantile(p)), p, 1e-9);
}

TEST(Quantile, KnowsStudentsTable) {
  // t(0.975) for 1, 2, 3, 5, 10, 30 degrees of freedom.
  const std::pair<int, double> table[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},
                                          {5, 2.571},  {10, 2.228}, {30, 2.042}};
  for (const auto& [degrees, t] : table) {
    EXPECT_NEAR(student_widening(degrees) * 1.95996, t, 0.002 * t) << degrees;
  }
}

TEST(PrefillCost, PredictsNestedIntervalsAroundTheLaw) {
  const PrefillCost cost = fitted(0.03, 1);
  const auto narrow = cost.predict(Tokens(8000), Tokens(1000), 0.5);
  const auto wide = cost.predict(Tokens(8000), Tokens(1000), 0.99);
  const auto law = cost.expected(Tokens(8000), Tokens(1000), 0.99);
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
  EXPECT_TRUE(narrow.contains(cost.time(Tokens(8000), Tokens(1000))));
  EXPECT_LT(law.high - law.low, wide.high - wide.low);
}

TEST(PrefillCost, AgreesWithTheQuantilesOfItsOwnDraws) {
  const PrefillCost cost = fitted(0.04, 2, 3);
  Random random(3);
  for (const auto& [from, to] : {std::pair{0, 512}, {0, 8192}, {30000, 31000}, {1000, 60000}}) {
    std::vector<double> seen;
    for (int i = 0; i < 40000; ++i) {
      PrefillLaw law = cost.law;
      law.theta = cost.draws[random.below(cost.draws.size())];
      seen.push_back(law.between(Tokens(from), Tokens(to)).value() * (1 + cost.residual * random.normal()));
    }
    for (const double q : {0.05, 0.5, 0.95}) {
      const double quantile = cost.between_quantile(Tokens(from), Tokens(to), q).value();
      EXPECT_NEAR(quantile / sample_quantile(seen, q), 1, 0.02) << from << ' ' << to << ' ' << q;
    }
  }
}

TEST(PrefillCost, BoundsTheQuantileByAStraightLineEverywhere) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const PrefillCost cost = fitted(seed % 2 == 0 ? 0.02 : 0.15, seed);
    Random random(seed);
    const auto reach = static_cast<std::uint64_t>(cost.marginal_reach().value());
    for (const double q : {0.01, 0.05, 0.25, 0.75, 0.95, 0.99}) {
      const MarginalLaw line = cost.marginal(q);
      for (int i = 0; i < 50; ++i) {
        Tokens from(static_cast<std::int64_t>(random.below(reach)));
        Tokens to(static_cast<std::int64_t>(random.below(reach)));
        if (from > to) std::swap(from, to);
        const double exact = cost.between_quantile(from, to, q).value();
        const double bound = line.between(from, to).value();
        const double slack = 1e-9 * (1 + exact);
        if (q < 0.5) {
          EXPECT_LE(bound, exact + slack) << "seed " << seed << " q " << q;
        } else {
          EXPECT_GE(bound, exact - slack) << "seed " << seed << " q " << q;
        }
      }
    }
  }
}

TEST(PrefillCost, LosesLittleByTheStraightLine) {
  const PrefillCost cost = fitted(0.02, 4, 3);
  for (const double q : {0.05, 0.95}) {
    for (const int to : {1000, 10000, 50000, 200000}) {
      const double exact = cost.between_quantile(Tokens(0), Tokens(to), q).value();
      EXPECT_NEAR(cost.marginal(q).between(Tokens(0), Tokens(to)).value() / exact, 1, 0.01) << q << ' ' << to;
    }
  }
}

TEST(PrefillCost, FallsBackToTheLawWithoutDraws) {
  PrefillCost cost;
  cost.law = test::planted_law();
  const Seconds law = cost.law.between(Tokens(100), Tokens(900));
  EXPECT_NEAR(cost.between_quantile(Tokens(100), Tokens(900), 0.05) / law, 1, 1e-12);
  EXPECT_NEAR(cost.marginal(0.95).between(Tokens(100), Tokens(900)) / law, 1, 1e-9);
}

}  // namespace
}  // namespace fulcrum
