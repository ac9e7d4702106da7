// What the decider believes of loads in flight, against a simulation in small steps.
#include "policy/traffic.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

constexpr TierId kNvme = 1;

struct Setting {
  PolicyConfig config = policy(Strategy::break_even, {{"dram", 10}, {"nvme", 10}, {"hdd", 10}});
  MachineProfile profile = machine();
  Costs costs{config, profile};
};

// Equal sharing of X(N), in steps; the time at which the last of `bytes` is done.
double by_steps(std::vector<double> bytes, const TransferLaw& law) {
  const double step = 1e-4;
  double time = 0;
  while (bytes.back() > 0) {
    const auto moving = std::count_if(bytes.begin(), bytes.end(), [](double left) { return left > 0; });
    const double each =
        law.contention.throughput(static_cast<int>(moving)).value() * step / static_cast<double>(moving);
    for (double& left : bytes) left -= each;
    time += step;
  }
  return law.setup.value() + time;
}

TEST(Traffic, PredictsTheFinishOfOneMoreLoadAmongThoseInFlight) {
  const Setting setting;
  const TransferLaw& law = setting.costs.typical(kNvme);
  Random random(3);
  for (int round = 0; round < 30; ++round) {
    Traffic traffic(setting.costs, {100, 100, 100, 100, 100, 100});
    std::vector<double> bytes;
    const std::size_t others = random.below(6);
    for (OrderId order = 1; order <= others; ++order) {
      bytes.push_back(1e8 + random.uniform() * 3e9);
      traffic.enqueue(kNvme, order, Bytes(static_cast<std::int64_t>(bytes.back())), 1, true);
      ASSERT_TRUE(traffic.start_next(kNvme));
    }
    bytes.push_back(1e8 + random.uniform() * 3e9);
    const Seconds finish = traffic.finish(kNvme, Bytes(static_cast<std::int64_t>(bytes.back())), law);
    const double truth = by_steps(bytes, law);
    EXPECT_NEAR(finish.value(), truth, 0.002 + 0.002 * truth) << others << " others";
  }
}

TEST(Traffic, LetsNoMoreLoadsGoThanTheGate) {
  const Setting setting;
  Traffic traffic(setting.costs, {100, 2, 100, 100, 100, 100});
  for (OrderId order = 1; order <= 5; ++order) traffic.enqueue(kNvme, order, Bytes(1000), 1, true);
  EXPECT_TRUE(traffic.start_next(kNvme));
  EXPECT_TRUE(traffic.start_next(kNvme));
  EXPECT_FALSE(traffic.start_next(kNvme));
  EXPECT_EQ(traffic.in_flight(kNvme), 2);
  EXPECT_EQ(traffic.queued(kNvme), 3);
  traffic.remove(kNvme, 1);
  EXPECT_TRUE(traffic.start_next(kNvme));
  EXPECT_FALSE(traffic.start_next(kNvme));
}

TEST(Traffic, ServesWaitersFirstAndThenWhatSavesMostPerByte) {
  const Setting setting;
  Traffic traffic(setting.costs, {100, 1, 100, 100, 100, 100});
  traffic.enqueue(kNvme, 1, Bytes(1000), 9.0, false);
  traffic.enqueue(kNvme, 2, Bytes(1000), 1.0, true);
  traffic.enqueue(kNvme, 3, Bytes(1000), 2.0, true);
  traffic.enqueue(kNvme, 4, Bytes(1000), 2.0, true);
  traffic.enqueue(kNvme, 5, Bytes(1000), 0.5, false);
  traffic.hurry(kNvme, 5);
  for (const OrderId expected : {3U, 4U, 2U, 5U, 1U}) {
    EXPECT_EQ(traffic.start_next(kNvme), expected);
    traffic.remove(kNvme, expected);
  }
}

TEST(Traffic, CountsProgressWhileTimePasses) {
  const Setting setting;
  const TransferLaw& law = setting.costs.typical(kNvme);
  Traffic traffic(setting.costs, {100, 100, 100, 100, 100, 100});
  traffic.enqueue(kNvme, 1, Bytes(6'000'000'000), 1, true);
  ASSERT_TRUE(traffic.start_next(kNvme));
  EXPECT_NEAR(traffic.residual(kNvme, 1, law).value(), 1.0, 1e-9);
  traffic.advance(Seconds(0.75));
  EXPECT_NEAR(traffic.residual(kNvme, 1, law).value(), 0.25, 1e-9);
  traffic.advance(Seconds(2));
  EXPECT_NEAR(traffic.residual(kNvme, 1, law).value(), 1.0 / 16, 1e-9) << "overdue, but not known to be done";
}

TEST(Traffic, PromisesNothingBehindAClosedGateBeforeAllBytesAheadAreMoved) {
  const Setting setting;
  const TransferLaw& law = setting.costs.typical(kNvme);
  Traffic traffic(setting.costs, {100, 1, 100, 100, 100, 100});
  for (OrderId order = 1; order <= 4; ++order) {
    traffic.enqueue(kNvme, order, Bytes(6'000'000'000), 1, true);
    (void)traffic.start_next(kNvme);
  }
  EXPECT_NEAR(traffic.finish(kNvme, Bytes(6'000'000'000), law).value(), 5.001, 1e-6);
}

}  // namespace
}  // namespace fulcrum::testing
