// Policies against each other, and the report that says so.
#include "replay/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/replay/machines.h"

namespace fulcrum::replay {
namespace {

constexpr Tokens kBlock{512};
constexpr std::array kAll = {Strategy::none, Strategy::load_always, Strategy::threshold,
                             Strategy::break_even};

std::vector<PolicyReport> compare_on(const MachineProfile& machine, const Trace& trace,
                                     const SimulationOptions& options) {
  const PolicyConfig base = make_policy(machine, Strategy::break_even, kBlock, {8_GiB, 400_GiB});
  auto reports = compare(trace, machine, base, kAll, options);
  EXPECT_TRUE(reports.has_value()) << (reports ? "" : reports.error().message());
  return reports ? *reports : std::vector<PolicyReport>(kAll.size());
}

SimulationOptions two_replicas() {
  SimulationOptions options;
  options.replicas = 2;
  options.gpu_cache = Tokens(30'000);
  return options;
}

TEST(Comparison, BreakEvenNeverSpendsMoreGpuThanServingWithoutTiersAndSavesOnAReuseWorkload) {
  const auto reports = compare_on(two_tier_machine(), make_chat({}), two_replicas());
  const PolicyReport& none = reports[0];
  const PolicyReport& ours = reports[3];
  EXPECT_LE(ours.gpu_seconds, none.gpu_seconds);
  const auto worth_having = [](const PolicyReport& report) {
    return report.gpu_seconds_saved > 0.05 * (report.gpu_seconds + report.gpu_seconds_saved);
  };
  EXPECT_TRUE(worth_having(ours));
  EXPECT_FALSE(worth_having(none)) << "a policy that does nothing would pass";
  EXPECT_EQ(none.gpu_seconds_saved, 0);
  for (const TierTotals& tier : none.tiers) EXPECT_EQ(tier.read + tier.written, Bytes(0));
}

TEST(Comparison, BreakEvenHarmsLessThanLoadingAlways) {
  const auto reports = compare_on(two_tier_machine(), make_chat({}), two_replicas());
  EXPECT_EQ(reports[3].harmful_reads, 0U) << "exact devices: no prediction is wrong by more than queueing";
  EXPECT_GT(reports[1].harmful_reads, reports[3].harmful_reads);
  EXPECT_LE(reports[3].harm_p999, 1.0 + 1e-9);
  EXPECT_GT(reports[1].harm_p999, 1.05);
}

TEST(Comparison, NoPolicyBeatsAnInfiniteFreeCache) {
  const Trace trace = make_chat({});
  const auto reports = compare_on(two_tier_machine(), trace, two_replicas());
  TierProfile free_tier = make_tier("free", Medium::dram, Seconds(0), BytesPerSecond(1e18));
  const MachineProfile machine = make_machine({free_tier});
  const auto bound =
      simulate(trace, machine, make_policy(machine, Strategy::load_always, kBlock, {Bytes(1LL << 50)}),
               two_replicas());
  ASSERT_TRUE(bound.has_value());
  const PolicyReport best = summarise("infinite", *bound, bound->gpu);
  for (const PolicyReport& report : reports) {
    EXPECT_GE(report.gpu_seconds, best.gpu_seconds - 1e-9) << report.name;
    EXPECT_GE(report.ttft_s.mean, best.ttft_s.mean - 1e-9) << report.name;
  }
}

TEST(Comparison, EqualRunsGiveEqualBytesAndAnotherSeedDoesNot) {
  const MachineProfile machine = two_tier_machine();
  const Trace trace = make_chat({});
  const auto text = [&](std::uint64_t seed) {
    SimulationOptions options = two_replicas();
    options.seed = seed;
    options.gpu_noise = 0.05;
    options.truth = {DeviceTruth{1, 1, 0.1}, DeviceTruth{1, 1, 0.1}};
    ReportHead head;
    head.options = options;
    return report_json(head, compare_on(machine, trace, options));
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(Comparison, NoiseComesFromTheProfilesIntervals) {
  MachineProfile machine = two_tier_machine();
  machine.tiers[1].read.low = machine.tiers[1].read.value * 0.5;
  machine.tiers[1].read.high = machine.tiers[1].read.value * 2;
  machine.prefill->cost.residual = 0.03;
  const PolicyConfig policy = make_policy(machine, Strategy::break_even, kBlock, {8_GiB, 400_GiB});
  const SimulationOptions options = with_profile_noise({}, machine, policy);
  EXPECT_EQ(options.truth[0].noise, 0);
  EXPECT_NEAR(options.truth[1].noise, std::log(4.0) / 3.92, 1e-12);
  EXPECT_EQ(options.gpu_noise, 0.03);
}

TEST(Comparison, AStrategyIsFoundByNameOrTheNearestIsNamed) {
  EXPECT_EQ(*strategy_named("break_even"), Strategy::break_even);
  const auto wrong = strategy_named("load_allways");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message().find("load_always"), std::string::npos);
}

TEST(Report, CountsHarmAndQuantilesByNearestRank) {
  EXPECT_EQ(quantile_of(std::vector<double>{1, 2, 3, 4}, 0.5), 2);
  EXPECT_EQ(quantile_of(std::vector<double>{1, 2, 3, 4}, 0.51), 3);
  EXPECT_EQ(quantile_of(std::vector<double>{1, 2, 3, 4}, 1), 4);
  SimulationResult result;
  for (int i = 0; i < 4; ++i) {
    RequestRecord record;
    record.prompt = Tokens(100);
    record.first_token = Seconds(i + 1);
    record.compute_all = Seconds(1);
    record.compute = Seconds(1);
    result.requests.push_back(record);
  }
  result.requests[3].exposed = Seconds(0.75);
  result.requests[3].compute = Seconds(0.5);
  result.requests[3].loaded = Tokens(40);
  const PolicyReport report = summarise("x", result, Seconds(0));
  EXPECT_EQ(report.loads, 1U);
  EXPECT_EQ(report.harmful_reads, 1U) << "waited 0.75 s to save 0.5 s";
  EXPECT_DOUBLE_EQ(report.harm_p999, 1.25);
  EXPECT_DOUBLE_EQ(report.loaded_share, 0.1);
  EXPECT_DOUBLE_EQ(report.ttft_s.mean, 2.5);
}

TEST(Report, JsonAndChartHoldWhatWasReported) {
  const auto reports = compare_on(two_tier_machine(), make_chat({.requests = 60}), two_replicas());
  const auto json = nlohmann::json::parse(report_json({}, reports));
  ASSERT_EQ(json["policies"].size(), kAll.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto& policy = json["policies"][i];
    EXPECT_EQ(policy["name"], reports[i].name);
    EXPECT_EQ(policy["ttft_s"]["p99"], reports[i].ttft_s.p99);
    EXPECT_EQ(policy["gpu_seconds_saved"], reports[i].gpu_seconds_saved);
    EXPECT_EQ(policy["bytes_written"]["flash"], reports[i].tiers[1].written.value());
    EXPECT_EQ(policy["bytes_read"]["dram"], reports[i].tiers[0].read.value());
    EXPECT_EQ(policy["harmful_reads"], reports[i].harmful_reads);
    EXPECT_EQ(policy["harm_p999"], reports[i].harm_p999);
  }
  const std::string chart = ttft_chart("a < b", reports);
  EXPECT_NE(chart.find("break_even"), std::string::npos);
  EXPECT_EQ(chart.find("a < b"), std::string::npos) << "text is escaped";
}

}  // namespace
}  // namespace fulcrum::replay
