#include "calibrate/load_runner.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "sim_probe.h"
#include "tests/support/devices.h"

namespace fulcrum::calibrate {
namespace {

constexpr Window kWindow{.warm_up = 0.002_s, .length = 0.05_s, .cap = 1_s};

std::unique_ptr<SimDevice> simulated(ManualClock& clock, SimTruth truth = test::plain_truth(1)) {
  return std::make_unique<SimDevice>(truth, clock);
}

/// A runner on a device whose first 32 MiB are written.
class Filled {
 public:
  Filled(Device& device, ManualClock& clock)
      : runner_(std::move(*LoadRunner::create(
            device, clock, Payload(1), 4_MiB, [] { return Seconds(0); }, stop, 1))) {
    const auto written = runner_.transfer(IoKind::write, 0, 32_MiB, 1_MiB, 2);
    EXPECT_TRUE(written.has_value()) << written.error().message();
  }
  LoadRunner* operator->() { return &runner_; }
  std::atomic<bool> stop{false};

 private:
  LoadRunner runner_;
};

TEST(LoadRunner, MeasuresTheRateOfOneLoadExactlyWithoutNoise) {
  ManualClock clock;
  const auto device = simulated(clock);
  Filled runner(*device, clock);
  const auto run = runner->steady({IoKind::read, 64_KiB, 4, 1, {}}, kWindow);
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->rate.value(), 100e6, 1e3);
  EXPECT_EQ(run->wrong_sectors, 0);
  EXPECT_NEAR(run->second_half, 1, 0.05);
}

TEST(LoadRunner, AWholeTransferIncludesSetUpAndLatency) {
  ManualClock clock;
  const auto device = simulated(clock);
  Filled runner(*device, clock);
  const auto run = runner->transfer(IoKind::read, 1 << 20, 1_MiB, 64_KiB, 4);
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->time.value(), 200e-6 + 50e-6 + 1048576 / 100e6, 1e-6);
  EXPECT_EQ(run->bytes, 1_MiB);
}

TEST(LoadRunner, ACommitCostsItsSync) {
  ManualClock clock;
  const auto device = simulated(clock);
  Filled runner(*device, clock);
  const auto run = runner->commits(256_KiB, 64_KiB, 4, kWindow);
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->rate.value(), 262144 / (50e-6 + 262144 / 80e6 + 500e-6), 1e3);
}

TEST(LoadRunner, NeverHasMoreInFlightThanItWasToldTo) {
  ManualClock clock;
  test::CountingDevice device(simulated(clock));
  Filled runner(device, clock);
  ASSERT_TRUE(runner->steady({IoKind::read, 64_KiB, 4, 6, {}}, kWindow).has_value());
  EXPECT_EQ(device.in_flight_peak(), 24U);
  const auto refused = runner->steady({IoKind::read, 1_MiB, 8, 1, {}}, kWindow);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input) << "8 MiB do not fit into an arena of 4 MiB";
}

TEST(LoadRunner, ReadsOnlyWhatWasWritten) {
  ManualClock clock;
  test::CountingDevice device(simulated(clock));
  Filled runner(device, clock);
  ASSERT_TRUE(runner->steady({IoKind::read, 64_KiB, 4, 16, {}}, kWindow).has_value());
  for (const IoRequest& request : device.requests())
    EXPECT_LE(request.offset + static_cast<std::int64_t>(request.buffer.size()), 32 << 20);
}

TEST(LoadRunner, ADeviceErrorComesBackWithNothingInFlight) {
  for (const auto kind : {IoKind::read, IoKind::write}) {
    ManualClock clock;
    test::FaultyDevice device(simulated(clock), {.code = EIO, .nth = 50, .only = kind});
    Filled runner(device, clock);
    const auto run = runner->steady({kind, 64_KiB, 4, 2, {}}, kWindow);
    ASSERT_TRUE(run.has_error());
    EXPECT_EQ(run.error().kind, ErrorKind::device);
    EXPECT_EQ(device.in_flight(), 0U);
  }
}

TEST(LoadRunner, AStopEndsTheRunWithNothingInFlight) {
  ManualClock clock;
  const auto device = simulated(clock);
  Filled runner(*device, clock);
  runner.stop = true;
  const auto run = runner->steady({IoKind::read, 64_KiB, 4, 2, {}}, kWindow);
  ASSERT_TRUE(run.has_error());
  EXPECT_EQ(run.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(device->in_flight(), 0U);
}

TEST(LoadRunner, ASlowDeviceIsCutOffByTheCap) {
  ManualClock clock;
  const auto device = simulated(clock);
  Filled runner(*device, clock);
  const Seconds start = clock.now();
  const auto run =
      runner->steady({IoKind::read, 64_KiB, 4, 1, {}}, {.warm_up = 5_ms, .length = 100_s, .cap = 60_ms});
  ASSERT_TRUE(run.has_value());
  EXPECT_LT(clock.now() - start, 65_ms);
  EXPECT_NEAR(run->rate.value(), 100e6, 1e5);
}

TEST(LoadRunner, CorruptReadsAreCounted) {
  for (const auto lie : {test::Lie::flipped_byte, test::Lie::misdirected_write}) {
    ManualClock clock;
    test::LyingDevice device(simulated(clock), lie);
    Filled runner(device, clock);
    const auto wrong = runner->verify(0, 1_MiB, 64_KiB);
    ASSERT_TRUE(wrong.has_value());
    EXPECT_GT(*wrong, 0);
  }
}

}  // namespace
}  // namespace fulcrum::calibrate
