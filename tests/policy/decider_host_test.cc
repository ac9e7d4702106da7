// What the machine says of its tiers: found, lost, unusable, slower than measured.
#include <gtest/gtest.h>

#include <random>

#include "base/clock.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

constexpr Seconds kNow{100'000};

Decider two_tiers(std::int64_t drive_blocks = 100'000) {
  return decider(policy(Strategy::break_even, {{"dram", 200}, {"nvme", drive_blocks}}));
}

FoundRun found(const Chain& whole, std::size_t first, std::size_t count, Seconds age = Seconds(10)) {
  return {.parent = first == 0 ? BlockKey{} : whole[first - 1],
          .first = static_cast<std::uint32_t>(first),
          .keys = std::span(whole).subspan(first, count),
          .age = age};
}

/// `blocks` in runs of random length, in random order.
std::vector<FoundRun> cut(const Chain& whole, std::mt19937& random, std::size_t from = 0) {
  std::vector<FoundRun> runs;
  for (std::size_t at = from; at < whole.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random() % 9, whole.size() - at);
    runs.push_back(found(whole, at, count));
    at += count;
  }
  std::shuffle(runs.begin(), runs.end(), random);
  return runs;
}

TEST(DeciderHost, WhatATierHeldAtTheStartIsPlannedWith) {
  const Chain keys = chain(1, 90);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Decider own = two_tiers();
    const std::vector<FoundRun> runs = cut(keys, random);
    EXPECT_TRUE(own.restore(1, runs, kNow).empty()) << "seed " << seed;
    EXPECT_EQ(own.resident_blocks(keys, 1), 90U) << "seed " << seed;
    EXPECT_EQ(own.counters(1).used, block_bytes() * 90) << "seed " << seed;
    const Plan plan = own.on_schedule(request(1, keys), kNow);
    ASSERT_EQ(plan.reason.choice, Choice::load) << "seed " << seed;
    EXPECT_EQ(plan.load_end, Tokens(90 * kBlockTokens)) << "seed " << seed;
  }
}

TEST(DeciderHost, BranchesHangInTheMiddleOfRunsWhateverTheirOrder) {
  const Chain trunk = chain(1, 40);
  const Chain left = chain(2, 30, Chain(trunk.begin(), trunk.begin() + 17));
  const Chain right = chain(3, 20, Chain(trunk.begin(), trunk.begin() + 23));
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<FoundRun> runs = {found(trunk, 0, 40), found(left, 17, 13), found(left, 30, 17),
                                  found(right, 23, 20)};
    std::shuffle(runs.begin(), runs.end(), random);
    Decider own = two_tiers();
    EXPECT_TRUE(own.restore(1, runs, kNow).empty());
    EXPECT_EQ(own.resident_blocks(trunk, 1), 40U) << "seed " << seed;
    EXPECT_EQ(own.resident_blocks(left, 1), 47U) << "seed " << seed;
    EXPECT_EQ(own.resident_blocks(right, 1), 43U) << "seed " << seed;
    EXPECT_EQ(own.indexed_blocks(), 40U + 30U + 20U) << "seed " << seed;
  }
}

TEST(DeciderHost, AParentMayBeInAnotherTier) {
  const Chain keys = chain(1, 90);
  Decider own = two_tiers();
  const FoundRun front = found(keys, 0, 50);
  const FoundRun back = found(keys, 30, 60);
  EXPECT_TRUE(own.restore(0, {&front, 1}, kNow).empty());
  EXPECT_TRUE(own.restore(1, {&back, 1}, kNow).empty());
  EXPECT_EQ(own.resident_blocks(keys, 0), 50U);
  EXPECT_EQ(own.indexed_blocks(), 90U);
  EXPECT_EQ(own.plan(request(1, keys), kNow).load_end, Tokens(90 * kBlockTokens));
}

TEST(DeciderHost, BlocksWithoutTheirFrontAreRefused) {
  const Chain keys = chain(1, 90);
  const std::vector<FoundRun> runs = {found(keys, 0, 20), found(keys, 30, 20), found(keys, 50, 40)};
  Decider own = two_tiers();
  EXPECT_EQ(own.restore(1, runs, kNow), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(own.resident_blocks(keys, 1), 20U);
  EXPECT_EQ(own.indexed_blocks(), 20U);
}

TEST(DeciderHost, WhatHasNoRoomIsRefusedLongestUnusedFirst) {
  const Chain old = chain(1, 30);
  const Chain recent = chain(2, 30);
  Decider own = two_tiers(40);
  const std::vector<FoundRun> runs = {found(old, 0, 30, Seconds(500)), found(recent, 0, 30, Seconds(5))};
  EXPECT_EQ(own.restore(1, runs, kNow), (std::vector<std::size_t>{0}));
  EXPECT_EQ(own.resident_blocks(recent, 1), 30U);
  EXPECT_LE(own.counters(1).used, block_bytes() * 40);
}

TEST(DeciderHost, WhatWasUsedLongAgoLeavesFirstAfterARestart) {
  const Chain old = chain(1, 50);
  const Chain recent = chain(2, 50);
  Decider own = decider(policy(Strategy::break_even, {{"dram", 100}}));
  const std::vector<FoundRun> runs = {found(recent, 0, 50, Seconds(5)), found(old, 0, 50, Seconds(5000))};
  ASSERT_TRUE(own.restore(0, runs, kNow).empty());
  Host host(own);
  own.on_computed(chain(3, 50), kNow);
  EXPECT_EQ(own.resident_blocks(recent, 0), 50U);
  EXPECT_LT(own.resident_blocks(old, 0), 50U);
}

TEST(DeciderHost, HalfAMillionBlocksAreRestoredInSeconds) {
  std::vector<Chain> chains;
  std::vector<FoundRun> runs;
  for (std::uint32_t i = 0; i < 500; ++i) chains.push_back(chain(i + 1, 1000));
  for (const Chain& keys : chains) {
    for (std::size_t at = 0; at < keys.size(); at += 8) runs.push_back(found(keys, at, 8));
  }
  Decider own = two_tiers(1'000'000);
  SteadyClock clock;
  const Seconds start = clock.now();
  EXPECT_TRUE(own.restore(1, runs, kNow).empty());
  EXPECT_EQ(own.indexed_blocks(), 500'000U);
  EXPECT_LT((clock.now() - start).value(), 10) << "generous: sanitizers and busy machines";
}

// A decider whose drive holds one chain, and nothing else does.
struct OnDrive {
  OnDrive() : keys(chain(1, 90)), own(two_tiers()) {
    const FoundRun whole = found(keys, 0, 90);
    EXPECT_TRUE(own.restore(1, {&whole, 1}, kNow).empty());
  }
  Chain keys;
  Decider own;
};

TEST(DeciderHost, LostBlocksAndWhatHangsBehindThemAreGone) {
  OnDrive drive;
  const std::vector<BlockKey> lost = {drive.keys[40], drive.keys[41], chain(9, 1).front()};
  drive.own.on_lost(1, lost, kNow);
  EXPECT_EQ(drive.own.resident_blocks(drive.keys, 1), 40U);
  EXPECT_EQ(drive.own.counters(1).used, block_bytes() * 40);
  EXPECT_EQ(drive.own.plan(request(1, drive.keys), kNow).load_end, Tokens(40 * kBlockTokens));
}

TEST(DeciderHost, BlocksLostByOneTierAreReadFromAnother) {
  OnDrive drive;
  const FoundRun whole = found(drive.keys, 0, 90);
  ASSERT_TRUE(drive.own.restore(0, {&whole, 1}, kNow).empty());
  drive.own.on_lost(1, std::span(drive.keys).subspan(10, 5), kNow);
  EXPECT_EQ(drive.own.resident_blocks(drive.keys, 0), 90U);
  EXPECT_EQ(drive.own.resident_blocks(drive.keys, 1), 10U);
  EXPECT_EQ(drive.own.counters(1).used, block_bytes() * 85);
}

TEST(DeciderHost, ATierThatCannotBeReadIsNotPlannedWithUntilItCan) {
  OnDrive drive;
  const Plan plan = drive.own.on_schedule(request(1, drive.keys), kNow);
  ASSERT_EQ(plan.reason.choice, Choice::load);
  (void)drive.own.take_orders();
  drive.own.on_health(1, false, false, kNow);
  const std::vector<Order> orders = drive.own.take_orders();
  ASSERT_EQ(orders.size(), 1U) << "loads under way are called off";
  EXPECT_EQ(orders[0].kind, OrderKind::cancel);
  EXPECT_EQ(orders[0].id, plan.runs[0].order);
  EXPECT_EQ(drive.own.plan(request(2, drive.keys), kNow).run_count, 0);
  drive.own.on_health(1, true, true, kNow + 1_s);
  EXPECT_EQ(drive.own.plan(request(2, drive.keys), kNow + 1_s).load_end, Tokens(90 * kBlockTokens))
      << "what it holds stayed known";
}

TEST(DeciderHost, ATierThatCannotBeWrittenGetsNoWrites) {
  const auto demotions = [](bool writable) {
    Decider own = two_tiers();
    Host host(own);
    own.on_health(1, true, writable, 1_s);
    for (std::uint32_t i = 0; i < 8; ++i) {
      own.on_computed(chain(i + 1, 60), Seconds(10.0 + i));
      host.finish_all(Seconds(10.0 + i));
    }
    return host.count(OrderKind::demote);
  };
  EXPECT_GT(demotions(true), 0U);
  EXPECT_EQ(demotions(false), 0U);
}

TEST(DeciderHost, ASlowTierIsNotWorthItsLoads) {
  OnDrive drive;
  const auto predicted = [&] { return drive.own.plan(request(1, drive.keys), kNow).alternatives[1].load; };
  const Seconds before = predicted();
  drive.own.on_speed(1, 3, kNow);
  EXPECT_NEAR(predicted() / before, 3, 1e-9);
  drive.own.on_speed(1, 100, kNow);
  EXPECT_EQ(drive.own.plan(request(1, drive.keys), kNow).reason.choice, Choice::recompute);
  drive.own.on_speed(1, 1, kNow);
  EXPECT_NEAR(predicted() / before, 1, 1e-9);
  EXPECT_EQ(drive.own.plan(request(1, drive.keys), kNow).reason.choice, Choice::load);
}

TEST(DeciderHost, OrdersSayWhereTheirBlocksHangAndWhatTheyAreWorth) {
  Decider own = two_tiers();
  const Chain keys = chain(1, 60);
  own.on_computed(keys, 10_s);
  const std::vector<Order> orders = own.take_orders();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].first, 0U);
  EXPECT_EQ(orders[0].keys, keys);
  EXPECT_EQ(orders[0].worth, own.worth(0, keys));
  own.on_outcome({.order = orders[0].id, .kind = OutcomeKind::partial, .blocks_done = 40}, 11_s);
  EXPECT_EQ(own.resident_blocks(keys, 0), 40U) << "what was not written is not there";
  own.on_computed(keys, 12_s);
  const std::vector<Order> rest = own.take_orders();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].first, 40U);
  EXPECT_EQ(rest[0].parent, keys[39]);
}

}  // namespace
}  // namespace fulcrum::testing
