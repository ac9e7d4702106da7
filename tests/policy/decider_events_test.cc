// What each event leads to: sharing, gates, reading ahead, stopping, losing, moving down.
#include <gtest/gtest.h>

#include "on_drive.h"

namespace fulcrum::testing {
namespace {

TEST(DeciderEvents, ABlockInFlightIsReadOnceForAllWhoWait) {
  OnDrive drive;
  const Plan one = drive.own.on_schedule(request(1, drive.keys), drive.now);
  const Plan two = drive.own.on_schedule(request(2, drive.keys), drive.now + 10_ms);
  drive.host.collect();
  ASSERT_EQ(one.run_count, 1);
  ASSERT_EQ(two.run_count, 1);
  EXPECT_EQ(one.runs[0].order, two.runs[0].order);
  EXPECT_EQ(drive.since().size(), 1U);
  EXPECT_LT(two.reason.paid, one.reason.paid) << "only the rest of the load is waited for";

  drive.own.on_cancel(1, drive.now + 20_ms);
  drive.host.collect();
  EXPECT_TRUE(drive.host.called_off().empty()) << "someone still waits";
  drive.own.on_cancel(2, drive.now + 30_ms);
  drive.host.collect();
  EXPECT_EQ(drive.host.called_off().count(one.runs[0].order), 1U);
}

TEST(DeciderEvents, TheGateHoldsLoadsBackAndReleasesThem) {
  OnDrive drive;
  const Chain other = chain(1000, 60);
  ASSERT_EQ(drive.own.resident_blocks(other, 1), 60U);
  const Plan one = drive.own.on_schedule(request(1, drive.keys), drive.now);
  const Plan two = drive.own.on_schedule(request(2, other), drive.now);
  drive.host.collect();
  EXPECT_EQ(drive.own.counters(1).loads_in_flight, 1);
  if (two.reason.choice == Choice::load) {
    EXPECT_EQ(drive.own.counters(1).loads_queued, 1);
    EXPECT_GT(two.reason.paid, one.reason.paid) << "the wait behind the gate is part of the price";
  }
  drive.host.finish(one.runs[0].order, OutcomeKind::done, 0, drive.now + 1_s);
  EXPECT_EQ(drive.own.counters(1).loads_queued, 0);
}

TEST(DeciderEvents, AQueueThatIsTooLongIsNotJoined) {
  OnDrive drive;
  std::size_t loads = 0;
  std::size_t recomputed = 0;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Chain other = chain(1000 + i, 60);
    if (drive.own.resident_blocks(other, 1) < 60) continue;
    const Plan plan = drive.own.on_schedule(request(10 + i, other), drive.now);
    (plan.reason.choice == Choice::load ? loads : recomputed) += 1;
  }
  EXPECT_GT(loads, 0U);
  EXPECT_GT(recomputed, 2 * loads) << "behind several loads computing is faster";
}

TEST(DeciderEvents, AWaitingRequestIsReadAheadOnceAndWithinTheStaging) {
  OnDrive drive;
  Request asked = request(1, drive.keys);
  asked.lead = 1_s;
  drive.own.on_arrival(asked, drive.now);
  drive.own.on_arrival(asked, drive.now);
  drive.host.collect();
  ASSERT_EQ(drive.since().size(), drive.host.count(OrderKind::erase) > 0 ? drive.since().size() : 1U);
  ASSERT_EQ(drive.host.count(OrderKind::preload), 1U);
  const Order preload = drive.host.open().rbegin()->second;
  EXPECT_EQ(preload.kind, OrderKind::preload);
  EXPECT_EQ(preload.source, 1);
  EXPECT_EQ(preload.target, 0);
  EXPECT_EQ(preload.request, 1U);
  EXPECT_LE(preload.bytes, drive.own.policy().preload_staging);

  drive.host.finish_all(drive.now + 1_s);
  EXPECT_EQ(drive.own.resident_blocks(drive.keys, 0), preload.keys.size());
  const Plan plan = drive.own.on_schedule(request(1, drive.keys), drive.now + 1_s);
  ASSERT_GE(plan.run_count, 1);
  EXPECT_EQ(plan.runs[0].tier, 0) << "what was read ahead comes from memory";
}

TEST(DeciderEvents, APreloadStillInFlightIsSharedByTheRequestThatRuns) {
  OnDrive drive;
  Request asked = request(1, drive.keys);
  asked.lead = 1_s;
  drive.own.on_arrival(asked, drive.now);
  drive.host.collect();
  const OrderId preload = drive.host.open().rbegin()->first;
  const Plan plan = drive.own.on_schedule(request(1, drive.keys), drive.now + 10_ms);
  drive.host.collect();
  ASSERT_GE(plan.run_count, 1);
  EXPECT_EQ(plan.runs[0].order, preload);
  EXPECT_TRUE(drive.host.called_off().empty());
}

TEST(DeciderEvents, ADroppedRequestTakesItsPreloadWithIt) {
  OnDrive drive;
  Request asked = request(1, drive.keys);
  asked.lead = 1_s;
  drive.own.on_arrival(asked, drive.now);
  drive.host.collect();
  const OrderId preload = drive.host.open().rbegin()->first;
  drive.own.on_cancel(1, drive.now + 10_ms);
  drive.host.collect();
  EXPECT_EQ(drive.host.called_off().count(preload), 1U);
  drive.host.finish(preload, OutcomeKind::partial, 10, drive.now + 20_ms);
  EXPECT_EQ(drive.own.resident_blocks(drive.keys, 0), 10U) << "what had arrived stays";
}

TEST(DeciderEvents, WithoutALeadOrAPermissionNothingIsReadAhead) {
  OnDrive drive;
  drive.own.on_arrival(request(1, drive.keys), drive.now);
  drive.host.collect();
  EXPECT_EQ(drive.host.count(OrderKind::preload), 0U);

  PolicyConfig config = OnDrive::config();
  config.preload = false;
  Decider own = decider(config);
  Host host(own);
  own.on_computed(drive.keys, 1_s);
  host.finish_all(1_s);
  Request asked = request(1, drive.keys);
  asked.lead = 1_s;
  own.on_arrival(asked, 2_s);
  host.collect();
  EXPECT_EQ(host.count(OrderKind::preload), 0U);
}

TEST(DeciderEvents, WhatATierFailedToReadIsNotAskedOfItAgain) {
  OnDrive drive;
  const Plan one = drive.own.on_schedule(request(1, drive.keys), drive.now);
  drive.host.collect();
  drive.host.finish(one.runs[0].order, OutcomeKind::failed, 30, drive.now + 1_s);
  EXPECT_EQ(drive.own.resident_blocks(drive.keys, 1), 30U);
}

TEST(DeciderEvents, AStoppedLoadCostsTheTierNothing) {
  OnDrive drive;
  const Plan one = drive.own.on_schedule(request(1, drive.keys), drive.now);
  drive.own.on_cancel(1, drive.now + 1_s);
  drive.host.collect();
  drive.host.finish(one.runs[0].order, OutcomeKind::partial, 30, drive.now + 1_s);
  EXPECT_EQ(drive.own.resident_blocks(drive.keys, 1), drive.keys.size());
  const Plan two = drive.own.on_schedule(request(2, drive.keys), drive.now + 2_s);
  EXPECT_NE(two.runs[0].order, one.runs[0].order);
  EXPECT_EQ(two.reason.choice, Choice::load);
}

TEST(DeciderEvents, AFailedWriteLeavesNothingBehind) {
  Decider own = decider(policy(Strategy::break_even, {{"dram", 100}}));
  Host host(own);
  const Chain keys = chain(1, 50);
  own.on_computed(keys, 1_s);
  host.collect();
  ASSERT_EQ(host.open().size(), 1U);
  EXPECT_EQ(own.counters(0).used, block_bytes() * 50);
  EXPECT_EQ(own.resident_blocks(keys, 0), 0U) << "not readable before it is written";
  host.finish(host.open().begin()->first, OutcomeKind::failed, 0, 2_s);
  EXPECT_EQ(own.counters(0).used, Bytes(0));
  own.on_computed(keys, 3_s);
  host.finish_all(3_s);
  EXPECT_EQ(own.resident_blocks(keys, 0), 50U) << "and may be tried again";
}

TEST(DeciderEvents, ChainsBelowBreakEvenAreNotWritten) {
  MachineProfile slow = machine();
  slow.tiers[0].setup = Measured<Seconds>::exact(100_ms, Verdict::good);
  Decider own = decider(policy(Strategy::break_even, {{"dram", 100}}), slow);
  Host host(own);
  own.on_computed(chain(1, 4), 1_s);  // 2,048 tokens: 55 ms to compute
  host.finish_all(1_s);
  EXPECT_EQ(host.count(OrderKind::write), 0U);
  EXPECT_EQ(own.counters(0).refused_blocks, 4U);
  own.on_computed(chain(1, 20), 2_s);
  host.finish_all(2_s);
  EXPECT_EQ(host.count(OrderKind::write), 1U) << "a longer chain pays, front included";
  EXPECT_EQ(own.counters(0).used, block_bytes() * 20);
}

TEST(DeciderEvents, WhatLeavesMemoryMovesDownOnlyWhereItPays) {
  PolicyConfig config = policy(Strategy::break_even, {{"dram", 200}, {"hdd", 10'000}});
  config.preload = false;
  Decider own = decider(config);
  Host host(own);
  for (std::uint32_t i = 0; i < 20; ++i) {
    own.on_computed(chain(i, 30), Seconds(i));  // far below what the disk pays for
    host.finish_all(Seconds(i));
  }
  EXPECT_EQ(host.count(OrderKind::demote), 0U);
  EXPECT_EQ(own.counters(1).written, Bytes(0));
  MachineProfile profile = machine();
  const PrefillLaw& law = profile.prefill->cost.law;
  const Tokens pays = break_even_prefix(law.alpha(), law.beta(), 131'072 / 0.5e9, 30_ms);
  ASSERT_GT(pays, Tokens(30 * kBlockTokens));
}

TEST(DeciderEvents, WritesDownWithinTheLimit) {
  PolicyConfig config = policy(Strategy::break_even, {{"dram", 64}, {"nvme", 100'000}});
  config.tiers[1].write_limit = 100_MBps;
  Decider own = decider(config);
  Host host(own);
  const double end = 600;
  for (std::uint32_t i = 0; i < 300; ++i) {
    own.on_computed(chain(i, 40), Seconds(2.0 * i));
    host.finish_all(Seconds(2.0 * i));
  }
  const Bytes written = own.counters(1).written;
  EXPECT_LE(static_cast<double>(written.value()), 100e6 * (end + 60));
  EXPECT_GE(static_cast<double>(written.value()), 0.8 * 100e6 * end) << "and uses it";
}

TEST(Decider, RefusesWhatItCannotWorkWith) {
  MachineProfile bare = machine();
  bare.prefill.reset();
  const auto no_costs = Decider::create(policy(Strategy::none, {{"dram", 10}}), bare);
  ASSERT_FALSE(no_costs);
  EXPECT_EQ(no_costs.error().kind, ErrorKind::bad_input);
  const auto empty = Decider::create(policy(Strategy::break_even, {{"dram", 0}}), machine());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::bad_input);
  PolicyConfig stranger = policy(Strategy::break_even, {{"dram", 10}});
  stranger.tiers[0].profile = "tape";
  const auto unknown = Decider::create(stranger, machine());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::mismatch);
}

TEST(Decider, DiesWhenTimeGoesBackwards) {
  Decider own = decider(policy(Strategy::break_even, {{"dram", 10}}));
  own.on_time(5_s);
  EXPECT_DEATH(own.on_time(4_s), "time does not go backwards");
}

}  // namespace
}  // namespace fulcrum::testing
