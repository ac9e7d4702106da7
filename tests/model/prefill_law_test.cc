// Laws that the prefill law keeps, whatever its coefficients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "fulcrum/cost.h"

namespace fulcrum {
namespace {

PrefillLaw random_law(Random& random) {
  PrefillLaw law;
  law.theta = {5e-3 * random.uniform(), 2e-3 * random.uniform(), 1e-5 + 4e-5 * random.uniform(),
               2e-9 * random.uniform(), 1e-7 * random.uniform(), 0};
  law.theta[5] = law.theta[2] * random.uniform();
  constexpr std::int64_t kChunks[] = {0, 256, 500, 2048, 8192};
  constexpr std::int64_t kTiles[] = {1, 64, 128};
  law.chunk_tokens = kChunks[random.below(5)];
  law.tile_tokens = kTiles[random.below(3)];
  law.knee_tokens = static_cast<std::int64_t>(random.below(1000));
  return law;
}

Tokens random_tokens(Random& random, std::uint64_t most) {
  return Tokens(static_cast<std::int64_t>(random.below(most)));
}

TEST(PrefillLaw, IsTheSumOverItsChunks) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const PrefillLaw law = random_law(random);
    const std::int64_t fresh = 1 + random_tokens(random, 20000).value();
    const std::int64_t cached = random_tokens(random, 60000).value();
    const std::int64_t chunk = law.chunk_tokens == 0 ? fresh : law.chunk_tokens;
    double seconds = law.theta[0];
    for (std::int64_t done = 0; done < fresh; done += chunk) {
      const auto c = static_cast<double>(std::min(chunk, fresh - done));
      const auto p = static_cast<double>(cached + done);
      const auto tile = static_cast<double>(law.tile_tokens);
      const double rows = std::ceil(c / tile) * tile;
      seconds += law.theta[1] + law.theta[2] * rows + law.theta[3] * c * (p + c / 2) + law.theta[4] * p +
                 law.theta[5] * std::max(0.0, static_cast<double>(law.knee_tokens) - rows);
    }
    EXPECT_NEAR(law.time(Tokens(fresh), Tokens(cached)).value() / seconds, 1, 1e-12) << "round " << round;
  }
}

TEST(PrefillLaw, TakesNoTimeForNoTokens) {
  Random random(8);
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(random_law(random).time(Tokens(0), random_tokens(random, 100000)), Seconds(0));
  }
}

TEST(PrefillLaw, NeverFallsWhenTokensAreAdded) {
  Random random(9);
  for (int round = 0; round < 300; ++round) {
    const PrefillLaw law = random_law(random);
    const Tokens fresh = random_tokens(random, 12000);
    const Tokens cached = random_tokens(random, 60000);
    const Tokens more(1 + random_tokens(random, 300).value());
    EXPECT_LE(law.time(fresh, cached), law.time(fresh + more, cached)) << "round " << round;
    EXPECT_LE(law.time(fresh, cached), law.time(fresh, cached + more)) << "round " << round;
  }
}

TEST(PrefillLaw, FallsWhenTheHingeIsSteeperThanTheLine) {
  // The bound th5 <= th2 is what the monotony rests on.
  PrefillLaw law;
  law.theta = {0, 0, 1e-5, 0, 0, 2e-5};
  law.knee_tokens = 256;
  EXPECT_GT(law.time(Tokens(1), Tokens(0)), law.time(Tokens(256), Tokens(0)));
}

TEST(PrefillLaw, PricesTokensAdditively) {
  Random random(10);
  for (int round = 0; round < 300; ++round) {
    const PrefillLaw law = random_law(random);
    std::array<Tokens, 3> at = {random_tokens(random, 100000), random_tokens(random, 100000),
                                random_tokens(random, 100000)};
    std::sort(at.begin(), at.end());
    const double parts = (law.between(at[0], at[1]) + law.between(at[1], at[2])).value();
    EXPECT_NEAR(parts, law.between(at[0], at[2]).value(), 1e-9 * (1 + parts));
    EXPECT_GE(law.between(at[0], at[1]).value(), 0);
  }
}

TEST(PrefillLaw, PricesAPrefixAsWhatItsAbsenceCosts) {
  // Whole chunks, calls beyond the knee: the marginal price is the difference of two prefills, exactly.
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    PrefillLaw law = random_law(random);
    if (law.chunk_tokens > 0) law.chunk_tokens = 1024;
    const Tokens prefix(1024 * static_cast<std::int64_t>(1 + random.below(60)));
    const Tokens fresh(1024 * static_cast<std::int64_t>(1 + random.below(8)));
    const double without = law.time(prefix + fresh, Tokens(0)).value();
    const double with = law.time(fresh, prefix).value();
    EXPECT_NEAR(law.between(Tokens(0), prefix).value(), without - with, 1e-9 * without) << "round " << round;
  }
}

TEST(PrefillLaw, ChargesSmallChunksForReadingThePrefixAgain) {
  PrefillLaw law;
  law.theta = {0, 1e-3, 25e-6, 1e-9, 40e-9, 0};
  law.chunk_tokens = 8192;
  PrefillLaw small = law;
  small.chunk_tokens = 512;
  EXPECT_GT(small.beta(), law.beta());
  EXPECT_GT(small.alpha(), law.alpha());
  EXPECT_GT(small.time(Tokens(65536), Tokens(0)), law.time(Tokens(65536), Tokens(0)));
}

}  // namespace
}  // namespace fulcrum
