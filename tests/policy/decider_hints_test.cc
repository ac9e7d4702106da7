// Hints hold preload staging for the request that they announce, and for no longer than it can be expected.
#include <gtest/gtest.h>

#include <limits>

#include "on_drive.h"

namespace fulcrum::testing {
namespace {

constexpr Seconds kLead{5};
constexpr Seconds kGrace{10};  // as fulcrum/decider.h states

// Staging for twenty blocks: one hint takes it all.
struct Hinted : OnDrive {
  Hinted() : OnDrive(90, small()) {
    hint(1, kLead);
    EXPECT_EQ(preloaded(), 20U);
    host.finish_all(now);
  }
  static PolicyConfig small() {
    PolicyConfig made = config();
    made.preload_staging = block_bytes() * 20;
    return made;
  }
  void hint(RequestId id, Seconds lead) {
    const Chain other = id == 1 ? keys : chain(1000 + static_cast<std::uint32_t>(id), 60);
    Request waiting = request(id, other);
    waiting.lead = lead;
    own.on_arrival(waiting, now);
    host.collect();
  }
  /// Blocks that were ordered to be read ahead so far.
  [[nodiscard]] std::size_t preloaded() const {
    std::size_t blocks = 0;
    for (const Order& order : since()) blocks += order.kind == OrderKind::preload ? order.keys.size() : 0;
    return blocks;
  }
};

TEST(DeciderHints, AHintThatNothingFollowsGivesItsStagingBackAfterItsTime) {
  Hinted hinted;
  hinted.now += kLead + kGrace - 1_ms;
  hinted.hint(2, kLead);
  EXPECT_EQ(hinted.preloaded(), 20U) << "request 1 may still run";
  hinted.now += 2_ms;
  hinted.hint(3, kLead);
  EXPECT_GT(hinted.preloaded(), 20U);
}

TEST(DeciderHints, AHintThatIsRepeatedIsAsGoodAsNew) {
  Hinted hinted;
  hinted.now += kLead;
  hinted.hint(1, kLead);
  hinted.now += kLead + kGrace - 1_ms;
  hinted.hint(2, kLead);
  EXPECT_EQ(hinted.preloaded(), 20U) << "request 1 was expected later";
  hinted.now += 2_ms;
  hinted.hint(3, kLead);
  EXPECT_GT(hinted.preloaded(), 20U);
}

TEST(DeciderHints, AnAbsurdLeadKeepsNoStagingForEver) {
  for (const double lead : {1e12, std::numeric_limits<double>::infinity()}) {
    Hinted hinted;
    hinted.now += kLead + kGrace + 1_ms;
    hinted.hint(2, Seconds(lead));
    const std::size_t before = hinted.preloaded();
    EXPECT_GT(before, 20U);
    hinted.host.finish_all(hinted.now);
    hinted.now += Seconds(3600);
    hinted.hint(3, kLead);
    EXPECT_GT(hinted.preloaded(), before) << lead;
  }
}

TEST(DeciderHints, WhatIsHeldBackForAHintThatNothingFollowsIsNotReadAnyMore) {
  Hinted hinted;
  hinted.own.on_cancel(1, hinted.now);
  const OrderId occupant = hinted.own.on_schedule(request(7, chain(1003, 60)), hinted.now).runs[0].order;
  hinted.hint(2, kLead);
  ASSERT_EQ(hinted.own.counters(1).loads_queued, 1);
  hinted.now += kLead + kGrace + 1_ms;
  hinted.own.on_time(hinted.now);
  EXPECT_EQ(hinted.own.counters(1).loads_queued, 0);
  hinted.host.finish(occupant, OutcomeKind::done, 0, hinted.now);
  EXPECT_EQ(hinted.preloaded(), 20U);
}

TEST(DeciderHints, TheRequestThatRunsLateStillFindsWhatWasReadAhead) {
  Hinted hinted;
  hinted.now += kLead + kGrace * 2;
  const Plan plan = hinted.own.on_schedule(request(1, hinted.keys), hinted.now);
  ASSERT_GE(plan.run_count, 1);
  EXPECT_EQ(plan.runs[0].tier, 0) << "the blocks stay until others are worth more";
}

}  // namespace
}  // namespace fulcrum::testing
