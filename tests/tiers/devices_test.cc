// The misbehaving devices misbehave as they say, and a reader who verifies notices.
#include "tests/support/devices.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/scratch.h"
#include "tiers/file_device.h"

namespace fulcrum::test {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kBlocks = 32;
constexpr Seconds kPatience = Seconds(20);

std::unique_ptr<Device> honest() {
  const ScratchDirectory directory;
  auto opened = FileDevice::open(directory.path(), {.size = Bytes(kBlock * kBlocks * 2), .depth_max = 32});
  EXPECT_FALSE(opened.has_error()) << opened.error().message();
  return std::move(*opened);
}

/// Moves all blocks one by one; the errors met.
std::vector<Error> move_all(Device& device, IoKind kind, std::span<std::byte> memory) {
  std::vector<Error> errors;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    IoCompletion done;
    EXPECT_FALSE(
        device.submit({kind, static_cast<std::int64_t>(i * kBlock), memory.subspan(i * kBlock, kBlock), i})
            .has_error());
    EXPECT_EQ(*device.poll({&done, 1}, kPatience), 1U);
    EXPECT_EQ(done.tag, i);
    EXPECT_EQ(done.kind, kind);
    if (done.result.has_error()) errors.push_back(done.result.error());
  }
  return errors;
}

/// Writes random blocks twice over zeros, reads them back: how many blocks differ.
std::size_t wrong_blocks(Device& device) {
  auto source = AlignedBuffer::allocate(kBlock * kBlocks);
  auto target = AlignedBuffer::allocate(kBlock * kBlocks);
  Random(21).fill(source->span());
  EXPECT_TRUE(move_all(device, IoKind::write, source->span()).empty());
  EXPECT_TRUE(move_all(device, IoKind::read, target->span()).empty());
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < source->size(); at += kBlock) {
    wrong +=
        std::ranges::equal(source->span().subspan(at, kBlock), target->span().subspan(at, kBlock)) ? 0U : 1U;
  }
  return wrong;
}

TEST(LyingDevice, IsFoundOutByAReaderWhoVerifiesAndAnHonestOnePasses) {
  EXPECT_EQ(wrong_blocks(*honest()), 0U);
  LyingDevice flipping(honest(), Lie::flipped_byte, 4);
  EXPECT_EQ(wrong_blocks(flipping), kBlocks / 4);
  LyingDevice losing(honest(), Lie::lost_write, 4);
  EXPECT_EQ(wrong_blocks(losing), kBlocks / 4);
  LyingDevice misdirecting(honest(), Lie::misdirected_write, 4);
  EXPECT_GT(wrong_blocks(misdirecting), 0U);
  EXPECT_EQ(misdirecting.lies(), kBlocks / 4);
}

TEST(FaultyDevice, FailsTheRequestItWasToldTo) {
  FaultyDevice device(honest(), {.code = EIO, .nth = 3, .only = IoKind::read});
  auto memory = AlignedBuffer::allocate(kBlock * kBlocks);
  EXPECT_TRUE(move_all(device, IoKind::write, memory->span()).empty());
  const std::vector<Error> errors = move_all(device, IoKind::read, memory->span());
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].kind, ErrorKind::device);
  EXPECT_EQ(device.injected(), 1U);
  EXPECT_EQ(device.counters().errors, 1U);
  EXPECT_EQ(device.counters().reads, kBlocks - 1);
}

TEST(FaultyDevice, FailsTheSameRequestsForTheSameSeed) {
  const auto failures = [](std::uint64_t seed) {
    FaultyDevice device(honest(), {.code = ENOSPC, .probability = 0.4, .seed = seed});
    auto memory = AlignedBuffer::allocate(kBlock * kBlocks);
    return move_all(device, IoKind::write, memory->span()).size();
  };
  EXPECT_EQ(failures(5), failures(5));
  EXPECT_GT(failures(5), 0U);
  EXPECT_LT(failures(5), kBlocks);
}

TEST(SlowDevice, HoldsCompletionsBackForItsDelayOnItsClock) {
  ManualClock clock;
  SlowDevice device(honest(), clock, Seconds(2));
  auto memory = AlignedBuffer::allocate(kBlock);
  ASSERT_FALSE(device.submit({IoKind::write, 0, memory->span(), 1}).has_error());
  std::array<IoCompletion, 1> out;
  while (device.inner().in_flight() > 0) EXPECT_EQ(*device.poll(out, Seconds(0)), 0U);
  EXPECT_EQ(*device.poll(out, Seconds(1)), 0U);
  EXPECT_EQ(device.in_flight(), 1U);
  EXPECT_EQ(*device.poll(out, Seconds(5)), 1U);
  EXPECT_EQ(clock.now(), Seconds(2));
  EXPECT_GE(out[0].latency, Seconds(2));
}

TEST(CountingDevice, RemembersWhatWasAsked) {
  CountingDevice device(honest());
  auto memory = AlignedBuffer::allocate(kBlock * kBlocks);
  move_all(device, IoKind::write, memory->span());
  ASSERT_EQ(device.requests().size(), kBlocks);
  EXPECT_EQ(device.requests()[5].offset, static_cast<std::int64_t>(5 * kBlock));
  EXPECT_EQ(device.in_flight_peak(), 1U);
}

}  // namespace
}  // namespace fulcrum::test
