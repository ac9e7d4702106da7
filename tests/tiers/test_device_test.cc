// TestDevice keeps the contract of every device, and its crashes and faults are what it says.
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/tiers/device_contract.h"

namespace fulcrum::test {
namespace {

constexpr std::size_t kSector = SectorWrite::kSize;

Geometry small(std::size_t alignment = kSector) {
  return {.capacity = 2_MiB, .head = 64_KiB, .piece = 1_MiB, .alignment = alignment, .depth_max = 16};
}

Result<std::unique_ptr<Device>> make(bool shuffled) {
  static ManualClock clock;
  auto device = std::make_unique<TestDevice>(small(4096), clock);
  if (shuffled) device->shuffle(3);
  device->take_time(10_us, 1_GBps);
  return std::unique_ptr<Device>(std::move(device));
}

INSTANTIATE_TEST_SUITE_P(TestDevice, DeviceContract,
                         testing::Values(DeviceFactory{"in_order", [] { return make(false); }},
                                         DeviceFactory{"shuffled", [] { return make(true); }}),
                         factory_name);

class TestDeviceTest : public testing::Test {
 protected:
  void submit(IoKind kind, std::int64_t offset, std::size_t size, std::byte fill = std::byte{0}) {
    memory_.push_back(*AlignedBuffer::allocate(std::max<std::size_t>(size, 1)));
    std::ranges::fill(memory_.back().span(), fill);
    const bool moves = kind == IoKind::read || kind == IoKind::write;
    const IoRequest request{kind, offset, memory_.back().span().first(moves ? size : 0), ++tag_,
                            kind == IoKind::allocate ? static_cast<std::int64_t>(size) : 0};
    ASSERT_FALSE(device_.submit(request).has_error());
  }
  /// Everything that ends within a second.
  std::vector<IoCompletion> poll() {
    std::vector<IoCompletion> out(16);
    out.resize(*device_.poll(out, 1_s));
    return out;
  }
  IoCompletion run(IoKind kind, std::int64_t offset, std::size_t size, std::byte fill = std::byte{0}) {
    submit(kind, offset, size, fill);
    const auto out = poll();
    EXPECT_EQ(out.size(), 1U);
    return out.empty() ? IoCompletion{} : out.front();
  }
  static std::byte at(const Image& image, std::size_t sector) { return image[sector * kSector]; }

  ManualClock clock_;
  TestDevice device_{small(), clock_};
  std::vector<AlignedBuffer> memory_;
  std::uint64_t tag_ = 0;
};

TEST_F(TestDeviceTest, ACrashKeepsAnySubsetOfTheSectorsOfWritesThatNoSyncCovered) {
  run(IoKind::write, 0, 2 * kSector, std::byte{1});
  run(IoKind::sync, 0, 0);
  EXPECT_TRUE(device_.pending().empty());
  run(IoKind::write, 0, 2 * kSector, std::byte{2});           // ended
  submit(IoKind::write, kSector, 2 * kSector, std::byte{3});  // in flight
  ASSERT_EQ(device_.pending().size(), 4U);
  std::set<std::array<int, 3>> seen;
  for (std::uint64_t mask = 0; mask < 16; ++mask) {
    const Image image = device_.crash(mask);
    seen.insert({std::to_integer<int>(at(image, 0)), std::to_integer<int>(at(image, 1)),
                 std::to_integer<int>(at(image, 2))});
  }
  EXPECT_EQ(seen.size(), 2U * 3U * 2U) << "old, ended or in flight, each sector by itself";
  EXPECT_EQ(at(device_.image(), 1), std::byte{2}) << "reads do not see what is in flight";
}

TEST_F(TestDeviceTest, ASyncCoversWhatHadEndedWhenItWasSubmittedInItsOwnFileOnly) {
  run(IoKind::write, 0, kSector, std::byte{1});
  run(IoKind::write, (64_KiB).value(), kSector, std::byte{2});  // the next file
  submit(IoKind::write, kSector, kSector, std::byte{3});        // in flight at the sync
  submit(IoKind::sync, 0, 0);
  EXPECT_EQ(poll().size(), 2U);
  const Image worst = device_.crash(std::uint64_t{0});
  EXPECT_EQ(at(worst, 0), std::byte{1});
  EXPECT_EQ(at(worst, 1), std::byte{0});
  EXPECT_EQ(worst[static_cast<std::size_t>((64_KiB).value())], std::byte{0});
  EXPECT_EQ(device_.pending().size(), 2U);
  EXPECT_FALSE(device_.sync().has_error());
  EXPECT_TRUE(device_.pending().empty());
  EXPECT_EQ(device_.crash(std::uint64_t{0}), device_.image());
}

TEST_F(TestDeviceTest, WhatAFailedSyncShouldHaveCoveredIsNeverSafe) {
  run(IoKind::write, 0, kSector, std::byte{1});
  device_.fail({.code = EIO, .kind = IoKind::sync});
  EXPECT_TRUE(run(IoKind::sync, 0, 0).result.has_error());
  run(IoKind::write, kSector, kSector, std::byte{2});
  EXPECT_FALSE(run(IoKind::sync, 0, 0).result.has_error());
  const Image worst = device_.crash(std::uint64_t{0});
  EXPECT_EQ(at(worst, 0), std::byte{0});
  EXPECT_EQ(at(worst, 1), std::byte{2});
}

TEST_F(TestDeviceTest, ANewDeviceStartsFromTheImageOfAnEarlierOne) {
  run(IoKind::write, 0, kSector, std::byte{7});
  TestDevice next(small(), clock_, device_.crash(std::uint64_t{1}));
  EXPECT_EQ(at(next.image(), 0), std::byte{7});
  EXPECT_EQ(next.image().size(), device_.image().size());
}

TEST_F(TestDeviceTest, FailsTheRequestsItWasToldToAndAFailedWriteIsHalfThere) {
  device_.fail({.code = EIO, .kind = IoKind::write, .nth = 2, .count = 2});
  std::vector<bool> failed;
  for (std::int64_t i = 0; i < 4; ++i) {
    run(IoKind::read, 0, kSector);
    failed.push_back(run(IoKind::write, 4 * i * static_cast<std::int64_t>(kSector), 2 * kSector, std::byte{9})
                         .result.has_error());
  }
  EXPECT_EQ(failed, (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(at(device_.image(), 4), std::byte{9});
  EXPECT_EQ(at(device_.image(), 5), std::byte{0});
  device_.fail({.code = EIO, .count = DeviceFault::kAlways, .begin = 4096, .end = 8192});
  EXPECT_FALSE(run(IoKind::read, 0, 4096).result.has_error());
  EXPECT_TRUE(run(IoKind::read, 3584, 1024).result.has_error());
  device_.mend();
  EXPECT_FALSE(run(IoKind::read, 3584, 1024).result.has_error());
}

TEST_F(TestDeviceTest, StalledRequestsEndWhenTheyAreReleased) {
  device_.stall(IoKind::write);
  submit(IoKind::write, 0, kSector);
  submit(IoKind::read, 0, kSector);
  ASSERT_EQ(poll().size(), 1U);
  const Seconds before = clock_.now();
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(clock_.now() - before, 1_s) << "a poll waits in vain";
  device_.release();
  EXPECT_EQ(poll().size(), 1U);
}

TEST_F(TestDeviceTest, SpaceRunsOutForWhatIsNotTakenAndComesBack) {
  EXPECT_FALSE(run(IoKind::allocate, 0, 4096).result.has_error());
  device_.set_space(device_.space_taken());
  EXPECT_FALSE(run(IoKind::write, 0, 4096).result.has_error());
  EXPECT_EQ(run(IoKind::write, 4096, kSector).result.error().kind, ErrorKind::no_space);
  EXPECT_EQ(run(IoKind::allocate, 4096, kSector).result.error().kind, ErrorKind::no_space);
  device_.set_space(std::nullopt);
  EXPECT_FALSE(run(IoKind::write, 4096, kSector).result.has_error());
}

TEST_F(TestDeviceTest, ASlowDeviceTakesItsFactorOfTheTime) {
  device_.take_time(1_ms, 1_MBps);
  EXPECT_NEAR(run(IoKind::read, 0, 1024).latency.value(), 1e-3 + 1024e-6, 1e-12);
  device_.slow(10);
  EXPECT_NEAR(run(IoKind::read, 0, 1024).latency.value(), 1e-2 + 1024e-5, 1e-12);
}

TEST_F(TestDeviceTest, TheSameShuffleGivesTheSameOrder) {
  std::vector<std::vector<std::uint64_t>> orders;
  for (const std::uint64_t seed : {5U, 5U, 6U}) {
    device_.shuffle(seed);
    for (int i = 0; i < 8; ++i) submit(IoKind::read, 0, kSector);
    orders.emplace_back();
    for (const IoCompletion& done : poll()) orders.back().push_back((done.tag - 1) % 8);
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
}

using TestDeviceDeathTest = TestDeviceTest;

TEST_F(TestDeviceDeathTest, ADeviceThatReportsARequestTwiceIsAProgrammersError) {
  submit(IoKind::read, 0, kSector);
  device_.complete_twice();
  EXPECT_DEATH(poll(), "nobody asked for");
}

}  // namespace
}  // namespace fulcrum::test
