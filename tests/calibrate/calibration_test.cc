// The real thing, scaled down: real files, real io_uring where the kernel has it, real memory.
#include "calibrate/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "calibrate/progress.h"
#include "tests/support/scratch.h"

namespace fulcrum::calibrate {
namespace {

const TierProgress kQuiet = [](std::string_view, double, std::string_view) {};

/// The quick plan, at a size that takes a second.
void shrink(CalibrationPlan& plan) {
  plan.memory.region = 16_MiB;
  plan.memory.threads = {1, 2, 4};
  plan.memory.window = 2_ms;
  for (PathPlan& path : plan.paths) {
    ProbePlan& probe = path.plan;
    probe.file = 64_MiB;
    probe.fill_least = 64_MiB;
    probe.arena = 16_MiB;
    probe.write_most = 512_MiB;
    probe.io_sizes = {128_KiB, 512_KiB};
    probe.depths = {1, 4};
    probe.write_sizes = {512_KiB};
    probe.write_depths = {2};
    probe.loads = {1, 2, 4};
    probe.commits = {128_KiB, 1_MiB};
    probe.wholes = {4_MiB};
    probe.reference_io = 512_KiB;
    probe.window = {.warm_up = 1_ms, .length = 4_ms, .cap = 0.5_s};
    probe.write_window = {.warm_up = 1_ms, .length = 4_ms, .cap = 0.5_s, .most = 4_MiB};
    probe.repeats = 3;
    probe.settle_least = 5;
    probe.settle_most = 6;
    probe.time_limit = 2_s;
  }
}

TEST(Calibration, MeasuresARealDirectoryAndLeavesNothingInIt) {
  const test::ScratchDirectory scratch;
  SteadyClock clock;
  CalibrationRequest request;
  request.paths = {scratch.path()};
  request.names = {"drive"};
  auto plan = plan_calibration(request, clock);
  ASSERT_TRUE(plan.has_value()) << plan.error().message();
  shrink(*plan);
  const std::atomic<bool> stop{false};
  const auto found = measure_machine(*plan, request, clock, kQuiet, stop);
  ASSERT_TRUE(found.has_value()) << found.error().message();
  EXPECT_TRUE(scratch.empty());

  const TierProfile* drive = found->profile.tier("drive");
  ASSERT_NE(drive, nullptr);
  EXPECT_GT(drive->read.value, 1_MBps);
  EXPECT_GT(drive->write.value, 1_MBps);
  EXPECT_GT(drive->setup.value, Seconds(0));
  EXPECT_NE(drive->verdict, Verdict::invalid);
  ASSERT_NE(found->profile.tier("dram"), nullptr);
  EXPECT_GT(found->profile.tier("dram")->read.value, 100_MBps);
  EXPECT_NE(found->samples_csv.find("\ndrive,load,"), std::string::npos);
}

TEST(Calibration, ItsProfileReadsBackAsItWas) {
  const test::ScratchDirectory scratch;
  SteadyClock clock;
  CalibrationRequest request;
  request.paths = {scratch.path()};
  auto plan = plan_calibration(request, clock);
  ASSERT_TRUE(plan.has_value());
  shrink(*plan);
  const std::atomic<bool> stop{false};
  const auto found = measure_machine(*plan, request, clock, kQuiet, stop);
  ASSERT_TRUE(found.has_value());
  const auto again = MachineProfile::parse(found->profile.to_yaml(), "profile");
  ASSERT_TRUE(again.has_value()) << again.error().message();
  ASSERT_EQ(again->tiers.size(), 2U);
  EXPECT_EQ(again->tiers[1].read, found->profile.tiers[1].read);
  EXPECT_EQ(again->tiers[1].reads, found->profile.tiers[1].reads);
  EXPECT_EQ(again->provenance.created_utc, found->profile.provenance.created_utc);
}

TEST(Calibration, AStopIsObeyedBeforeAnythingIsMeasured) {
  const test::ScratchDirectory scratch;
  SteadyClock clock;
  CalibrationRequest request;
  request.paths = {scratch.path()};
  const auto plan = plan_calibration(request, clock);
  ASSERT_TRUE(plan.has_value());
  const std::atomic<bool> stop{true};
  const auto found = measure_machine(*plan, request, clock, kQuiet, stop);
  ASSERT_TRUE(found.has_error());
  EXPECT_EQ(found.error().kind, ErrorKind::interrupted);
}

ErrorKind refusal(const CalibrationRequest& request) {
  ManualClock clock;
  const auto plan = plan_calibration(request, clock);
  return plan.has_error() ? plan.error().kind : ErrorKind::internal;
}

TEST(Calibration, RefusesPathsAndNamesThatCannotWork) {
  const test::ScratchDirectory scratch;
  CalibrationRequest request;
  request.paths = {"/nowhere/at/all"};
  EXPECT_EQ(refusal(request), ErrorKind::not_found);
  request.paths = {"/proc/version"};
  EXPECT_EQ(refusal(request), ErrorKind::bad_input) << "a file";
  request.paths = {scratch.path(), scratch.path()};
  request.names = {"a"};
  EXPECT_EQ(refusal(request), ErrorKind::bad_input) << "one name for two paths";
  request.names = {"a", "a"};
  EXPECT_EQ(refusal(request), ErrorKind::bad_input) << "the same name twice";
  request.names = {"a", "dram"};
  EXPECT_EQ(refusal(request), ErrorKind::bad_input) << "the name of host memory";
}

TEST(Calibration, SeveralPathsWithoutNamesAreNumbered) {
  const test::ScratchDirectory one;
  const test::ScratchDirectory two;
  ManualClock clock;
  CalibrationRequest request;
  request.paths = {one.path(), two.path()};
  const auto plan = plan_calibration(request, clock);
  ASSERT_TRUE(plan.has_value());
  const std::string first = plan->paths[0].tier;
  EXPECT_EQ(first.back(), '1');
  EXPECT_EQ(plan->paths[1].tier, first.substr(0, first.size() - 1) + "2");
}

TEST(Calibration, AMemoryFilesystemIsNeverGood) {
  SteadyClock clock;
  CalibrationRequest request;
  request.paths = {"/dev/shm"};
  auto plan = plan_calibration(request, clock);
  if (plan.has_error() || !plan->paths[0].seen.in_memory) GTEST_SKIP() << "no tmpfs at /dev/shm";
  shrink(*plan);
  const std::atomic<bool> stop{false};
  const auto found = measure_machine(*plan, request, clock, kQuiet, stop);
  ASSERT_TRUE(found.has_value()) << found.error().message();
  EXPECT_EQ(found->profile.tier(plan->paths[0].tier)->verdict, Verdict::cached);
}

TEST(Preflight, KnowsMediaByFilesystemAndFlag) {
  DeviceIdentity device;
  device.filesystem = "ext4";
  EXPECT_EQ(medium_of(device, false), Medium::flash);
  EXPECT_EQ(medium_of(device, true), Medium::hdd);
  device.filesystem = "nfs4";
  EXPECT_EQ(medium_of(device, false), Medium::pool);
}

TEST(Progress, RedrawsOneLineOnATerminalAndPrintsFewElsewhere) {
  ManualClock clock;
  std::ostringstream terminal;
  std::ostringstream plain;
  Progress drawn(terminal, true, clock);
  Progress logged(plain, false, clock);
  for (int i = 0; i <= 105; ++i) {
    clock.sleep(0.2_s);
    drawn.update("nvme", std::min(100, i) / 100.0, "reading");
    logged.update("nvme", std::min(100, i) / 100.0, "reading");
  }
  drawn.clear();
  EXPECT_EQ(terminal.str().find('\n'), std::string::npos);
  EXPECT_NE(terminal.str().find("100 %"), std::string::npos);
  const std::string lines = plain.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3) << "21 s: at the start, then every 10 s";
  EXPECT_EQ(lines.find('\r'), std::string::npos);
}

}  // namespace
}  // namespace fulcrum::calibrate
