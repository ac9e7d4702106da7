// What a probe does around its measurements: budgets, order, faults, stopping.
#include "calibrate/storage_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "calibrate/probe_plan.h"
#include "sim_probe.h"
#include "tests/support/devices.h"

namespace fulcrum::calibrate {
namespace {

using test::plain_truth;
using test::small_plan;

TEST(StorageProbe, WritesNoMoreThanItsBudget) {
  ManualClock clock;
  SimDevice device(plain_truth(1), clock);
  ProbePlan plan = small_plan(1);
  plan.write_most = 48_MiB;
  const std::atomic<bool> stop{false};
  const auto report = probe_storage(device, clock, plan, {}, stop);
  ASSERT_TRUE(report.has_value());
  EXPECT_LE(device.counters().write_bytes, 48_MiB);
  EXPECT_GT(device.counters().write_bytes, 40_MiB);
  const auto& findings = report->tier.findings;
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const std::string& finding) {
    return finding.find("budget") != std::string::npos;
  }));
}

TEST(StorageProbe, WritesOnlyAfterItHasRead) {
  const auto report = test::probe(plain_truth(2), small_plan(2));
  Seconds last_read{};
  Seconds first_write{1e9};
  for (const Sample& sample : report.samples.all()) {
    if (sample.cell.kind == CellKind::load) last_read = std::max(last_read, sample.at);
    if (sample.cell.kind == CellKind::commit) first_write = std::min(first_write, sample.at);
  }
  EXPECT_LT(last_read, first_write) << "or reads would follow heavy writes";
}

TEST(StorageProbe, InterleavesItsCells) {
  const auto report = test::probe(plain_truth(3), small_plan(3));
  std::vector<int> order;
  for (const Sample& sample : report.samples.all()) {
    if (sample.cell.kind == CellKind::load) order.push_back(sample.cell.loads);
  }
  ASSERT_GE(order.size(), 70U);
  const std::vector<int> first(order.begin(), order.begin() + 7);
  const std::vector<int> second(order.begin() + 7, order.begin() + 14);
  EXPECT_NE(first, second) << "each round has an order of its own";
  EXPECT_TRUE(std::is_permutation(first.begin(), first.end(), second.begin()));
}

TEST(StorageProbe, RepeatsWhatDecisionsRestOnAtLeastTenTimes) {
  const auto report = test::probe(plain_truth(4), small_plan(4));
  EXPECT_GE(report.tier.read.samples, 10);
  EXPECT_GE(report.tier.setup.samples, 10);
  for (const SurfacePoint& point : report.tier.reads) EXPECT_GE(point.rate.samples, 5);
}

TEST(StorageProbe, ADeviceErrorEndsItCleanly) {
  for (const std::uint64_t nth : {1U, 100U, 1000U}) {
    ManualClock clock;
    test::FaultyDevice device(std::make_unique<SimDevice>(plain_truth(5), clock), {.code = EIO, .nth = nth});
    const std::atomic<bool> stop{false};
    const auto report = probe_storage(device, clock, small_plan(5), {}, stop);
    ASSERT_TRUE(report.has_error()) << nth;
    EXPECT_EQ(report.error().kind, ErrorKind::device);
    EXPECT_EQ(device.in_flight(), 0U);
  }
}

TEST(StorageProbe, AFullDiskIsReportedAsSuch) {
  ManualClock clock;
  test::FaultyDevice device(std::make_unique<SimDevice>(plain_truth(6), clock),
                            {.code = ENOSPC, .nth = 5, .only = IoKind::write});
  const std::atomic<bool> stop{false};
  const auto report = probe_storage(device, clock, small_plan(6), {}, stop);
  ASSERT_TRUE(report.has_error());
  EXPECT_EQ(report.error().kind, ErrorKind::no_space);
}

TEST(StorageProbe, ADeviceThatReturnsOtherBytesIsInvalid) {
  ManualClock clock;
  test::LyingDevice device(std::make_unique<SimDevice>(plain_truth(7), clock), test::Lie::misdirected_write,
                           50);
  const std::atomic<bool> stop{false};
  const auto report = probe_storage(device, clock, small_plan(7), {}, stop);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->tier.verdict, Verdict::invalid);
}

TEST(StorageProbe, AStopInTheMiddleIsObeyed) {
  ManualClock clock;
  SimDevice device(plain_truth(8), clock);
  std::atomic<bool> stop{false};
  ProbeHooks hooks;
  hooks.progress = [&](double share, std::string_view) { stop = share > 0.4; };
  const auto report = probe_storage(device, clock, small_plan(8), hooks, stop);
  ASSERT_TRUE(report.has_error());
  EXPECT_EQ(report.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(device.in_flight(), 0U);
}

TEST(ProbePlan, ShrinksToTheSpaceAndTheBudget) {
  const ProbePlan plan = quick_plan(1);
  const auto roomy = fit_to_space(plan, 1_GiB * 500, Bytes(0));
  ASSERT_TRUE(roomy.has_value());
  EXPECT_EQ(roomy->file, plan.file);
  const auto tight = fit_to_space(plan, 1_GiB, Bytes(0));
  ASSERT_TRUE(tight.has_value());
  EXPECT_LE(tight->file, 256_MiB);
  EXPECT_LE(tight->fill_least, tight->file);
  const auto thrifty = fit_to_space(plan, 1_GiB * 500, 1_GiB);
  ASSERT_TRUE(thrifty.has_value());
  EXPECT_EQ(thrifty->write_most, 1_GiB);
  EXPECT_LE(thrifty->file, 1_GiB / 3);
  EXPECT_LT(thrifty->write_window.most, plan.write_window.most) << "short samples rather than none";
  EXPECT_GE(thrifty->commits.size(), 2U);
}

TEST(ProbePlan, RefusesWhatCannotBeMeasured) {
  const auto full_disk = fit_to_space(quick_plan(1), 100_MiB, Bytes(0));
  ASSERT_TRUE(full_disk.has_error());
  EXPECT_EQ(full_disk.error().kind, ErrorKind::no_space);
  const auto stingy = fit_to_space(quick_plan(1), 1_GiB * 500, 1_MiB);
  ASSERT_TRUE(stingy.has_error());
  EXPECT_EQ(stingy.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace fulcrum::calibrate
