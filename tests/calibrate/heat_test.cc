// Temperatures around a measurement, and what they say about it.
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/heat_log.h"
#include "calibrate/verdict.h"
#include "sim_probe.h"

namespace fulcrum::calibrate {
namespace {

Judgement judged(const std::optional<Heat>& heat) {
  Judgement judgement;
  check_heat(heat, judgement);
  return judgement;
}

TEST(HeatLog, KeepsTheFirstTheHottestAndTheLast) {
  double now = 40;
  HeatLog log([&] { return std::optional(Temperature{now, 80.0}); });
  log.look(0_s);
  now = 71;
  log.look_sometimes(0.5_s);  // too soon to ask the drive again
  now = 66;
  log.look_sometimes(2_s);
  now = 52;
  log.look(2.5_s);
  ASSERT_TRUE(log.heat().has_value());
  EXPECT_EQ(*log.heat(), (Heat{40, 66, 52, 80.0}));
}

TEST(HeatLog, WithoutASensorThereIsNoHeat) {
  HeatLog log([] { return std::optional<Temperature>(); });
  log.look(0_s);
  EXPECT_FALSE(log.heat().has_value());
}

TEST(Heat, ACoolDriveIsGoodWithoutAWord) {
  const Judgement cool = judged(Heat{40, 60, 50, 80.0});
  EXPECT_EQ(cool.verdict, Verdict::good);
  EXPECT_TRUE(cool.findings.empty());
  EXPECT_TRUE(judged(Heat{40, 95, 50, std::nullopt}).findings.empty()) << "no limit to compare with";
}

TEST(Heat, CloseToTheLimitIsMentionedAndAtTheLimitThrottles) {
  const Judgement close = judged(Heat{40, 76, 70, 80.0});
  EXPECT_EQ(close.verdict, Verdict::good);
  ASSERT_EQ(close.findings.size(), 1U);
  const Judgement hot = judged(Heat{40, 80, 70, 80.0});
  EXPECT_EQ(hot.verdict, Verdict::throttled);
  ASSERT_EQ(hot.findings.size(), 1U);
  EXPECT_NE(hot.findings[0].find("80 C"), std::string::npos) << hot.findings[0];
}

TEST(Heat, AnUnreadableTemperatureIsMentioned) {
  const Judgement blind = judged(std::nullopt);
  EXPECT_EQ(blind.verdict, Verdict::good);
  EXPECT_EQ(blind.findings.size(), 1U);
}

TEST(Heat, ADriveThatHeatsUpDuringTheProbeIsThrottled) {
  ManualClock clock;
  SimDevice device(test::plain_truth(1), clock);
  ProbeHooks hooks;
  hooks.cpu = [&] { return device.cpu_time(); };
  hooks.heat = [&] {  // from 40 degrees on, one more each twentieth of a second, to 85
    return std::optional(Temperature{std::min(85.0, 40 + 20 * clock.now().value()), 80.0});
  };
  const std::atomic<bool> stop{false};
  const auto report = probe_storage(device, clock, test::small_plan(1), hooks, stop);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->tier.verdict, Verdict::throttled) << "although its rates never fell";
  ASSERT_TRUE(report->tier.heat.has_value());
  EXPECT_LT(report->tier.heat->before, 41);
  EXPECT_EQ(report->tier.heat->hottest, 85);
}

}  // namespace
}  // namespace fulcrum::calibrate
