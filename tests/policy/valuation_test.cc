// The rules of choice and of worth, each with the mutants that must not pass for it.
#include "policy/valuation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "decider_fixture.h"
#include "policy/baselines.h"

namespace fulcrum::testing {
namespace {

std::vector<Alternative> random_alternatives(Random& random) {
  std::vector<Alternative> all(1);
  Tokens end(0);
  Seconds load(0);
  Seconds saved(0);
  for (std::size_t i = 0; i < 1 + random.below(5); ++i) {
    end += Tokens(512);
    load += Seconds(random.uniform());
    saved += Seconds(random.uniform());
    all.push_back({end, load, saved, Seconds(0), 0});
  }
  return all;
}

Rule rule(Strategy strategy) {
  Rule own;
  own.strategy = strategy;
  own.margin = 50_ms;
  return own;
}

struct Broken {
  std::size_t slower = 0;    ///< loads predicted slower than computing, on an idle GPU
  std::size_t missed = 0;    ///< a better alternative was there
  std::size_t unpriced = 0;  ///< gain below the margin
};

// How often a rule breaks the law "load only what gains, and then what gains most".
Broken broken_laws(const Rule& own) {
  Broken broken;
  Random random(11);
  for (int i = 0; i < 3000; ++i) {
    const auto all = random_alternatives(random);
    const Seconds lead(random.below(2) == 0 ? 0.0 : random.uniform());
    const std::size_t chosen = choose(own, all, lead, 1);
    const auto gain = [&](std::size_t at) {
      return at == 0 ? Seconds(0) : all[at].saved - all[at].exposed(lead) - own.margin;
    };
    if (chosen > 0 && all[chosen].exposed(lead) > all[chosen].saved) ++broken.slower;
    if (chosen > 0 && gain(chosen) <= Seconds(0)) ++broken.unpriced;
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (gain(at) > gain(chosen)) {
        ++broken.missed;
        break;
      }
    }
  }
  return broken;
}

TEST(BreakEven, LoadsOnlyWhatGainsAndThenWhatGainsMost) {
  const Broken broken = broken_laws(rule(Strategy::break_even));
  EXPECT_EQ(broken.slower, 0U);
  EXPECT_EQ(broken.unpriced, 0U);
  EXPECT_EQ(broken.missed, 0U);
}

TEST(BreakEven, CannotBeMistakenForItsBaselines) {
  const Broken always = broken_laws(rule(Strategy::load_always));
  EXPECT_GT(always.slower, 100U);
  EXPECT_GT(always.unpriced, 100U);
  EXPECT_GT(broken_laws(rule(Strategy::none)).missed, 100U);
}

TEST(BreakEven, WaitsNoLongerThanItsStopLossHoweverDearTheGpuIs) {
  const std::vector<Alternative> all{{}, {Tokens(512), 3_s, 1_s, 0_s, 0}};
  Rule own = rule(Strategy::break_even);
  EXPECT_EQ(choose(own, all, 0_s, 25), 0U) << "waits of three times the saving, whatever the price";
  own.stop_loss = 4;
  EXPECT_EQ(choose(own, all, 0_s, 25), 1U);
  EXPECT_EQ(choose(own, all, 0_s, 1), 0U) << "on an idle GPU it is a loss";
  own.stop_loss = 0;
  EXPECT_EQ(choose(own, all, 0_s, 25), 0U);
  EXPECT_EQ(choose(own, all, 3_s, 25), 1U) << "what is hidden by the lead is not waited for";
}

TEST(BreakEven, AdmitsToATierExactlyTheChainsThatPayThere) {
  const PolicyConfig config = policy(Strategy::break_even, {{"dram", 10}, {"nvme", 10}, {"hdd", 10}});
  const MachineProfile profile = machine();
  const Costs costs(config, profile);
  const BreakEven valuation(config, costs);
  const PrefillLaw& law = profile.prefill->cost.law;
  for (TierId tier = 0; tier < 3; ++tier) {
    const TierProfile& own = profile.tiers[static_cast<std::size_t>(tier)];
    const Tokens pays =
        break_even_prefix(law.alpha(), law.beta(), 131'072 / own.read.value.value(), own.setup.value);
    EXPECT_FALSE(valuation.admits(tier, pays - Tokens(2))) << own.name;
    EXPECT_TRUE(valuation.admits(tier, pays + Tokens(2))) << own.name;
  }
}

TEST(BreakEven, ValuesDeepFreshAndProvenBlocksMore) {
  const PolicyConfig config = policy(Strategy::break_even, {{"dram", 10}});
  const MachineProfile profile = machine();
  const Costs costs(config, profile);
  const BreakEven valuation(config, costs);
  const BlockUse plain{Tokens(4096), Tokens(8192), Tokens(8192), 100_s, 1, 1};
  const double worth = valuation.worth(0, plain);
  BlockUse deep = plain;
  deep.from = Tokens(40'960);
  deep.to = deep.reach = Tokens(45'056);
  EXPECT_GT(valuation.worth(0, deep), worth) << "attention makes deep tokens dearer to compute";
  BlockUse fresh = plain;
  fresh.used = 101_s;
  EXPECT_GT(valuation.worth(0, fresh), worth);
  BlockUse proven = plain;
  proven.uses = 3;
  EXPECT_GT(valuation.worth(0, proven), worth);
  BlockUse old = proven;
  old.used = plain.used - config.reuse_half_life * 5;
  EXPECT_LT(valuation.worth(0, old), worth) << "silence outweighs the past";
  BlockUse useless = plain;
  useless.reach = useless.to = Tokens(10);
  useless.from = Tokens(0);
  EXPECT_LT(valuation.worth(0, useless), -1e300) << "a chain too short to be loaded is worth nothing";
}

TEST(BreakEven, KeepsTheOrderOfWorthWhileTimePasses) {
  // Chance halves with age for all alike, so what is worth more now is worth more at any later time.
  const PolicyConfig config = policy(Strategy::break_even, {{"dram", 10}});
  const Costs costs(config, machine());
  const BreakEven valuation(config, costs);
  const BlockUse a{Tokens(0), Tokens(4096), Tokens(4096), 10_s, 1, 4};
  const BlockUse b{Tokens(8192), Tokens(12'288), Tokens(12'288), 40_s, 2, 1};
  const auto at = [&](const BlockUse& use, Seconds now) {
    const double log = valuation.worth(0, use) - use.used / config.reuse_half_life;
    return std::exp2(log - (now - use.used) / config.reuse_half_life);
  };
  EXPECT_EQ(valuation.worth(0, a) > valuation.worth(0, b), at(a, 50_s) > at(b, 50_s));
  EXPECT_EQ(at(a, 50_s) > at(b, 50_s), at(a, 5000_s) > at(b, 5000_s));
}

TEST(Threshold, LoadsFromItsThresholdOn) {
  const std::vector<Alternative> all{{}, {Tokens(1024), 1_s, 0_s, 0_s, 0}};
  Rule own = rule(Strategy::threshold);
  own.threshold = Tokens(1024);
  EXPECT_EQ(choose(own, all, 0_s, 1), 1U);
  own.threshold = Tokens(1025);
  EXPECT_EQ(choose(own, all, 0_s, 1), 0U);
}

TEST(Costs, WidenWhatIsNotWellMeasured) {
  const PolicyConfig config = policy(Strategy::break_even, {{"nvme", 10}});
  MachineProfile profile = machine();
  const Seconds good = Costs(config, profile).slow(0).time(1_GiB);
  EXPECT_EQ(good, profile.tiers[1].transfer().time(1_GiB));
  Seconds last = good;
  for (const Verdict verdict : {Verdict::noisy, Verdict::estimated, Verdict::cached}) {
    profile.tiers[1].verdict = verdict;
    const Seconds time = Costs(config, profile).slow(0).time(1_GiB);
    EXPECT_GT(time, last) << to_string(verdict);
    last = time;
  }
  profile.tiers[1].verdict = Verdict::good;
  profile.tiers[1].read.low = 3_GBps;
  EXPECT_GT(Costs(config, profile).slow(0).time(1_GiB), good) << "the interval counts";
  PolicyConfig median = config;
  median.load_quantile = 0.5;
  EXPECT_NEAR(Costs(median, profile).slow(0).time(1_GiB).value(), good.value(), 1e-9);
}

TEST(Costs, PriceTheGpuByWhatOneMoreSecondDelays) {
  EXPECT_EQ(gpu_price(0), 1);
  EXPECT_NEAR(gpu_price(0.5), 4, 1e-12);
  EXPECT_NEAR(gpu_price(0.8), 25, 1e-9);
  EXPECT_NEAR(gpu_price(1.0), 25, 1e-9);
}

}  // namespace
}  // namespace fulcrum::testing
