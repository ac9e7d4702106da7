// SimDevice keeps the contract of every device, and its clock shows the truth that it was given.
#include "tiers/sim_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device_contract.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum {
namespace {

using test::DeviceContract;
using test::DeviceFactory;

SimTruth small(std::size_t depth) {
  SimTruth truth;
  truth.capacity = 4_MiB;
  truth.depth_max = depth;
  return truth;
}

Result<std::unique_ptr<Device>> make_simulated() {
  static ManualClock clock;
  return std::unique_ptr<Device>(std::make_unique<SimDevice>(small(16), clock));
}

Result<std::unique_ptr<Device>> make_simulated_of_many_files() {
  static ManualClock clock;
  SimTruth truth = small(16);
  truth.head = 64_KiB;
  truth.piece = 512_KiB;
  truth.capacity = truth.head + truth.piece * 8;
  return std::unique_ptr<Device>(std::make_unique<SimDevice>(truth, clock));
}

INSTANTIATE_TEST_SUITE_P(SimDevice, DeviceContract,
                         testing::Values(DeviceFactory{"simulated", make_simulated},
                                         DeviceFactory{"of_many_files", make_simulated_of_many_files}),
                         test::factory_name);

/// Reads or writes `count` requests of `size` bytes from `offset`, all at once, and returns the time taken.
Seconds move(SimDevice& device, ManualClock& clock, IoKind kind, std::int64_t offset, std::size_t size,
             int count, std::byte fill = std::byte{0}) {
  auto buffer = AlignedBuffer::allocate(size * static_cast<std::size_t>(count));
  std::memset(buffer->data(), static_cast<int>(fill), buffer->size());
  if (fill == std::byte{0}) {
    for (std::size_t i = 0; i < buffer->size(); ++i) buffer->data()[i] = static_cast<std::byte>(i * 131 >> 3);
  }
  const Seconds start = clock.now();
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i) * size;
    EXPECT_TRUE(device
                    .submit({kind, offset + static_cast<std::int64_t>(at), buffer->span().subspan(at, size),
                             static_cast<std::uint64_t>(i)})
                    .has_value());
  }
  std::vector<IoCompletion> done(static_cast<std::size_t>(count));
  while (device.in_flight() > 0) EXPECT_TRUE(device.poll(done, 1_s).has_value());
  return clock.now() - start;
}

TEST(SimDevice, AReadTakesSetUpLatencyAndTransfer) {
  ManualClock clock;
  SimTruth truth = small(16);
  truth.setup = 1_ms;
  truth.latency = 100_us;
  truth.single = 1_GBps;
  truth.lane = 500_MBps;
  SimDevice device(truth, clock);
  const Seconds took = move(device, clock, IoKind::read, 0, 1 << 20, 1);
  EXPECT_NEAR(took.value(), 1.1e-3 + 1048576 / 500e6, 1e-9);
}

TEST(SimDevice, ARequestThatContinuesAStreamPaysNoSetUpAgain) {
  ManualClock clock;
  SimTruth truth = small(16);
  truth.setup = 1_ms;
  SimDevice device(truth, clock);
  const Seconds first = move(device, clock, IoKind::read, 0, 65536, 1);
  const Seconds next = move(device, clock, IoKind::read, 65536, 65536, 1);
  const Seconds elsewhere = move(device, clock, IoKind::read, 1 << 20, 65536, 1);
  EXPECT_NEAR((first - next).value(), 1e-3, 1e-9);
  EXPECT_NEAR(elsewhere.value(), first.value(), 1e-9);
}

TEST(SimDevice, StreamsShareByTheContentionLaw) {
  SimTruth truth = small(16);
  truth.setup = truth.latency = Seconds(0);
  truth.sigma = 0.5;
  truth.k = 0.02;
  truth.single = 1_GBps;
  for (const int n : {1, 2, 4, 8}) {
    ManualClock clock;
    SimDevice device(truth, clock);
    auto buffer = AlignedBuffer::allocate(static_cast<std::size_t>(n) << 16);
    for (int i = 0; i < n; ++i) {
      const auto part = buffer->span().subspan(static_cast<std::size_t>(i) << 16, 1 << 16);
      ASSERT_TRUE(device.submit({IoKind::read, std::int64_t{i} << 18, part, 0}).has_value());
    }
    std::vector<IoCompletion> done(16);
    while (device.in_flight() > 0) ASSERT_TRUE(device.poll(done, 1_s).has_value());
    const double x = 1e9 * n / (1 + 0.5 * (n - 1) + 0.02 * n * (n - 1));
    EXPECT_NEAR(clock.now().value(), n * 65536 / x, 1e-9) << n;
  }
}

TEST(SimDevice, CachedBytesComeFastAndAreNotCountedAsRead) {
  ManualClock clock;
  SimTruth truth = small(16);
  truth.page_cache = 4_MiB;
  SimDevice device(truth, clock);
  const Seconds cold = move(device, clock, IoKind::read, 0, 1 << 20, 1);
  const DeviceEvidence after_cold = device.evidence();
  const Seconds warm = move(device, clock, IoKind::read, 0, 1 << 20, 1);
  EXPECT_LT(warm.value(), cold.value() / 4);
  EXPECT_EQ(after_cold.device_read, 1_MiB);
  EXPECT_EQ(device.evidence().device_read, 1_MiB);
  EXPECT_GT(device.evidence().resident_share, 0.2);
  ASSERT_TRUE(device.drop_cache().has_value());
  EXPECT_EQ(device.evidence().resident_share, 0);
}

TEST(SimDevice, ConstantDataMovesFasterThanRandomDataWhereItCompresses) {
  ManualClock clock;
  SimTruth truth = small(16);
  truth.constant_speedup = 4;
  SimDevice device(truth, clock);
  const Seconds varied = move(device, clock, IoKind::write, 0, 1 << 20, 1);
  const Seconds constant = move(device, clock, IoKind::write, 1 << 20, 1 << 20, 1, std::byte{7});
  EXPECT_GT(varied.value(), 3 * constant.value());
}

TEST(SimDevice, TheWriteCacheFillsAndThenTheDrainRateRules) {
  ManualClock clock;
  SimTruth truth = small(16);
  truth.write = 1_GBps;
  truth.write_cache = 2_MiB;
  truth.write_drain = 100_MBps;
  truth.latency = Seconds(0);
  SimDevice device(truth, clock);
  const Seconds burst = move(device, clock, IoKind::write, 0, 1 << 20, 1);
  for (int i = 0; i < 3; ++i) move(device, clock, IoKind::write, 0, 1 << 20, 1);
  const Seconds late = move(device, clock, IoKind::write, 0, 1 << 20, 1);
  EXPECT_NEAR(late.value() / burst.value(), 10, 0.5);
}

TEST(SimDevice, ThrottlingBeginsAfterItsTime) {
  ManualClock clock;
  SimTruth truth = small(16);
  truth.throttle_after = 1_s;
  truth.throttle_share = 0.25;
  truth.setup = truth.latency = Seconds(0);
  SimDevice device(truth, clock);
  const Seconds before = move(device, clock, IoKind::read, 0, 1 << 20, 1);
  clock.sleep(1_s);
  const Seconds after = move(device, clock, IoKind::read, 0, 1 << 20, 1);
  EXPECT_NEAR(after.value() / before.value(), 4, 1e-6);
}

IoCompletion one(SimDevice& device, const IoRequest& request) {
  IoCompletion out;
  EXPECT_TRUE(device.submit(request).has_value());
  EXPECT_EQ(*device.poll({&out, 1}, 1_s), 1U);
  return out;
}

TEST(SimDevice, SpaceIsTakenOnceAndRunsOutAndComesBack) {
  ManualClock clock;
  SimTruth truth = small(16);
  truth.space = 1_MiB;
  SimDevice device(truth, clock);
  auto buffer = AlignedBuffer::allocate(65536);
  const auto space = [](Bytes offset, Bytes length) {
    return IoRequest{IoKind::allocate, offset.value(), {}, 0, length.value()};
  };
  EXPECT_FALSE(one(device, space(0_B, 768_KiB)).result.has_error());
  EXPECT_FALSE(one(device, space(512_KiB, 512_KiB)).result.has_error()) << "half of it is there already";
  EXPECT_EQ(device.space_taken(), 1_MiB);
  const IoCompletion full = one(device, space(1_MiB, 4_KiB));
  ASSERT_TRUE(full.result.has_error());
  EXPECT_EQ(full.result.error().kind, ErrorKind::no_space);
  const IoRequest beyond{IoKind::write, (2_MiB).value(), buffer->span()};
  EXPECT_EQ(one(device, beyond).result.error().kind, ErrorKind::no_space);
  EXPECT_FALSE(one(device, {IoKind::write, 0, buffer->span()}).result.has_error());
  device.set_space(std::nullopt);
  EXPECT_FALSE(one(device, beyond).result.has_error());
}

TEST(SimDevice, ASyncTakesItsTimeBesideOtherRequests) {
  ManualClock clock;
  SimTruth truth = small(16);
  truth.sync = 3_ms;
  SimDevice device(truth, clock);
  ASSERT_TRUE(device.submit({IoKind::sync, 0, {}, 1}).has_value());
  EXPECT_EQ(clock.now(), Seconds(0)) << "submitting waits for nothing";
  const Seconds read = move(device, clock, IoKind::read, 0, 4096, 1);
  EXPECT_NEAR(read.value(), 3e-3, 1e-9);
  EXPECT_NEAR(one(device, {IoKind::sync, 0, {}, 1}).latency.value(), 3e-3, 1e-9);
}

}  // namespace
}  // namespace fulcrum
