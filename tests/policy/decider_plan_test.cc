// The plan is the best one that a host with leading runs can have, and planning costs no allocation.
#include <gtest/gtest.h>

#include "allocations.h"
#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

// A chain whose first blocks are in host memory and whose others are on the drive: memory holds no more.
struct TwoTiers {
  static constexpr std::size_t kInDram = 20;
  explicit TwoTiers(std::size_t blocks,
                    PolicyConfig config = policy(Strategy::load_always, {{"dram", kInDram}, {"nvme", 4000}}))
      : keys(chain(1, blocks)), own(decider(config)), host(own) {
    own.on_computed(keys, 1_s);
    host.finish_all(2_s);
    EXPECT_EQ(own.resident_blocks(keys, 0), std::min(blocks, kInDram));
    EXPECT_EQ(own.resident_blocks(keys, 1), blocks);
  }
  Chain keys;
  Decider own;
  Host host;
};

// Load time of the first `k` blocks, both tiers side by side.
Seconds load_time(std::size_t k) {
  const MachineProfile profile = machine();
  const auto from = [&](std::size_t tier, std::size_t blocks) {
    if (blocks == 0) return Seconds(0);
    return profile.tiers[tier].transfer().time(block_bytes() * static_cast<std::int64_t>(blocks));
  };
  const std::size_t in_dram = std::min(k, TwoTiers::kInDram);
  return std::max(from(0, in_dram), from(1, k - in_dram));
}

TEST(Plan, OffersTheBoundariesOfTiersAndWhatTheLeadHides) {
  TwoTiers tiers(100);
  Request asked = request(1, tiers.keys);
  const Plan plain = tiers.own.plan(asked, 3_s);
  ASSERT_EQ(plain.alternative_count, 3);
  EXPECT_EQ(plain.alternatives[1].load_end, Tokens(20 * kBlockTokens));
  EXPECT_EQ(plain.alternatives[2].load_end, Tokens(100 * kBlockTokens));
  EXPECT_NEAR(plain.alternatives[1].load.value(), load_time(20).value(), 1e-12);
  EXPECT_NEAR(plain.alternatives[2].load.value(), load_time(100).value(), 1e-12);

  asked.lead = load_time(50) + 1_us;
  const Plan led = tiers.own.plan(asked, 3_s);
  ASSERT_EQ(led.alternative_count, 4);
  EXPECT_EQ(led.alternatives[2].load_end, Tokens(50 * kBlockTokens)) << "just what the lead hides";
  EXPECT_EQ(led.alternatives[2].exposed(asked.lead), Seconds(0));
}

TEST(Plan, IsNeverWorseThanAnyLeadingRun) {
  const PrefillLaw law = machine().prefill->cost.law;
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    const std::size_t blocks = 1 + random.below(200);
    TwoTiers tiers(blocks);
    Request asked = request(1, tiers.keys);
    asked.lead = Seconds(random.below(2) == 0 ? 0 : random.uniform());
    const Plan plan = tiers.own.plan(asked, 3_s);
    // The alternatives are what break_even chooses from: the best of them against the best of all cuts.
    Seconds offered = Seconds(0);
    for (std::size_t i = 0; i < plan.alternative_count; ++i) {
      const Alternative& a = plan.alternatives[i];
      offered = std::max(offered, a.saved - a.exposed(asked.lead));
    }
    for (std::size_t k = 1; k <= blocks; ++k) {
      const Tokens end(static_cast<std::int64_t>(k) * kBlockTokens);
      const Seconds exposed = std::max(Seconds(0), load_time(k) - asked.lead);
      EXPECT_GE(offered.value() + 1e-9, (law.between(Tokens(0), end) - exposed).value())
          << "cut at " << k << " of " << blocks << ", lead " << asked.lead.value();
    }
  }
}

TEST(Plan, StartsBehindWhatTheGpuHolds) {
  TwoTiers tiers(100);
  Request asked = request(1, tiers.keys);
  asked.resident = Tokens(30 * kBlockTokens);
  const Plan plan = tiers.own.plan(asked, 3_s);
  ASSERT_EQ(plan.run_count, 1);
  EXPECT_EQ(plan.runs[0].first, 30U);
  EXPECT_EQ(plan.runs[0].count, 70U);
  EXPECT_EQ(plan.runs[0].tier, 1);
  asked.resident = Tokens(100 * kBlockTokens);
  EXPECT_EQ(tiers.own.plan(asked, 3_s).reason.choice, Choice::resident);
  const Chain unknown = chain(2, 10);
  EXPECT_EQ(tiers.own.plan(request(2, unknown), 3_s).reason.choice, Choice::miss);
}

TEST(Plan, CarriesTheStopLossThatThePolicyAllows) {
  PolicyConfig config = policy(Strategy::break_even, {{"dram", 1000}});
  config.stop_loss = 0.5;
  Decider own = decider(config);
  Host host(own);
  const Chain keys = chain(1, 100);
  own.on_computed(keys, 1_s);
  host.finish_all(2_s);
  Request asked = request(1, keys);
  asked.lead = 10_ms;
  const Plan plan = own.plan(asked, 3_s);
  ASSERT_EQ(plan.reason.choice, Choice::load);
  const Seconds saved = machine().prefill->cost.law.between(Tokens(0), plan.load_end);
  EXPECT_NEAR(plan.stop_loss.value(), 0.010 + 0.5 * saved.value(), 1e-9);
}

TEST(Plan, AllocatesNothing) {
  TwoTiers tiers(2000);
  Request asked = request(1, tiers.keys);
  asked.lead = 100_ms;
  Seconds sum(0);
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) sum += tiers.own.plan(asked, 3_s).reason.saved;
  EXPECT_EQ(allocations(), before);
  EXPECT_GT(sum, Seconds(0));
  EXPECT_TRUE(tiers.own.take_orders().empty());
  const Plan loaded = tiers.own.on_schedule(asked, 3_s);
  EXPECT_GT(loaded.run_count, 0);
  EXPECT_GT(allocations(), before) << "the counter sees allocations where there are some";
}

TEST(Plan, KeepsTheIndexWithin64BytesABlock) {
  Decider own = decider(policy(Strategy::load_always, {{"dram", 400'000}}));
  Host host(own);
  std::size_t blocks = 0;
  for (std::uint32_t session = 0; session < 200; ++session) {
    Chain keys = chain(session % 4, 8);  // a system prompt, then turns of a session
    for (std::uint32_t turn = 0; turn < 10; ++turn) {
      keys = chain(1000 + session * 16 + turn, 12, keys);
      own.on_computed(keys, Seconds(1 + session));
      host.finish_all(Seconds(1 + session));
    }
    blocks += 120;
  }
  ASSERT_GE(own.indexed_blocks(), blocks);
  EXPECT_LE(static_cast<double>(own.index_memory().value()) / static_cast<double>(own.indexed_blocks()), 64);
}

}  // namespace
}  // namespace fulcrum::testing
