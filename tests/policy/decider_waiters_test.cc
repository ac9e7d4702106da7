// Orders that several requests wait for: they end with the last of these, and never without a word.
#include <gtest/gtest.h>

#include <algorithm>

#include "on_drive.h"

namespace fulcrum::testing {
namespace {

// The gate of the drive is taken by request 1; request 2 has its chain read ahead, which therefore waits.
struct BehindTheGate : OnDrive {
  BehindTheGate() : waited(chain(1000, 60)) {
    EXPECT_EQ(own.resident_blocks(waited, 1), 60U);
    occupant = own.on_schedule(request(1, keys), now).runs[0].order;
    Request hinted = request(2, waited);
    hinted.lead = 10_s;
    own.on_arrival(hinted, now);
    host.collect();
    EXPECT_EQ(own.counters(1).loads_queued, 1);
    EXPECT_EQ(host.count(OrderKind::preload), 0U) << "it is held back";
  }
  /// Another request for the same chain; the number of the order that it shares. A lead makes the wait pay.
  OrderId share(RequestId id) {
    Request other = request(id, waited);
    other.lead = 10_s;
    const Plan plan = own.on_schedule(other, now);
    EXPECT_EQ(plan.run_count, 1);
    host.collect();
    return plan.run_count > 0 ? plan.runs[0].order : 0;
  }
  [[nodiscard]] bool handed_out(OrderId order) const {
    return std::ranges::any_of(host.history(), [&](const Order& done) { return done.id == order; });
  }
  Chain waited;
  OrderId occupant = 0;
};

TEST(DeciderWaiters, AHeldBackPreloadStaysForWhoSharesItWhenItsFirstRequestIsDropped) {
  BehindTheGate gate;
  const OrderId shared = gate.share(3);
  ASSERT_EQ(gate.own.counters(1).loads_queued, 1) << "the preload is shared";
  gate.own.on_cancel(2, gate.now + 10_ms);
  gate.host.collect();
  EXPECT_EQ(gate.own.counters(1).loads_queued, 1) << "request 3 waits for it";
  gate.host.finish(gate.occupant, OutcomeKind::done, 0, gate.now + 1_s);
  EXPECT_TRUE(gate.handed_out(shared));
}

TEST(DeciderWaiters, AHeldBackPreloadStaysForWhoSharesItWhenItsFirstRequestRuns) {
  BehindTheGate gate;
  const OrderId shared = gate.share(3);
  EXPECT_EQ(gate.share(2), shared) << "both wait for the one order";
  gate.own.on_cancel(3, gate.now + 10_ms);
  gate.host.finish(gate.occupant, OutcomeKind::done, 0, gate.now + 1_s);
  EXPECT_TRUE(gate.handed_out(shared)) << "request 2 still waits";
}

TEST(DeciderWaiters, AHeldBackOrderThatNobodyWaitsForAnyMoreIsToldToEnd) {
  BehindTheGate gate;
  const OrderId shared = gate.share(3);
  gate.own.on_cancel(2, gate.now + 10_ms);
  gate.own.on_cancel(3, gate.now + 20_ms);
  gate.host.collect();
  EXPECT_EQ(gate.own.counters(1).loads_queued, 0);
  EXPECT_EQ(gate.host.called_off().count(shared), 1U) << "whoever knows the number hears of its end";
  gate.host.finish(gate.occupant, OutcomeKind::done, 0, gate.now + 1_s);
  EXPECT_FALSE(gate.handed_out(shared));
}

TEST(DeciderWaiters, AHeldBackOrderOfATierThatCannotBeReadIsToldToEnd) {
  BehindTheGate gate;
  const OrderId shared = gate.share(3);
  gate.own.on_health(1, false, false, gate.now + 10_ms);
  gate.host.collect();
  EXPECT_EQ(gate.host.called_off().count(shared), 1U);
  EXPECT_EQ(gate.host.called_off().count(gate.occupant), 1U);
}

TEST(DeciderWaiters, ARequestThatRunsTwiceWaitsOnce) {
  BehindTheGate gate;
  const OrderId shared = gate.share(3);
  EXPECT_EQ(gate.share(3), shared);
  gate.own.on_cancel(2, gate.now + 10_ms);
  gate.own.on_cancel(3, gate.now + 10_ms);
  gate.host.collect();
  EXPECT_EQ(gate.host.called_off().count(shared), 1U) << "equal numbers are one request";
}

}  // namespace
}  // namespace fulcrum::testing
