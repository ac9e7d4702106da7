// The contract of Device, continued: space, syncs, files, waking.
#include <algorithm>
#include <array>

#include "base/random.h"
#include "tests/tiers/device_contract.h"

namespace fulcrum::test {
namespace {

constexpr Seconds kPatience = Seconds(20);
constexpr std::uint64_t kSeed = 20261;

}  // namespace

TEST_P(DeviceContract, TakesSpaceWithoutTouchingWhatIsThere) {
  AlignedBuffer source = blocks(2);
  Random(kSeed).fill(source.span());
  const std::span<std::byte> two = source.span().first(2 * alignment_);
  ASSERT_FALSE(run(request(IoKind::write, block_offset(3), two)).result.has_error());
  const IoRequest space{
      .kind = IoKind::allocate, .offset = block_offset(1), .buffer = {}, .tag = 5, .length = block_offset(8)};
  const IoCompletion taken = run(space);
  ASSERT_FALSE(taken.result.has_error()) << taken.result.error().message();
  EXPECT_EQ(taken.tag, 5U);
  EXPECT_EQ(taken.kind, IoKind::allocate);
  EXPECT_EQ(taken.bytes, 8 * alignment_);
  AlignedBuffer seen = blocks(2);
  run(request(IoKind::read, block_offset(3), seen.span().first(2 * alignment_)));
  EXPECT_TRUE(std::ranges::equal(two, seen.span().first(2 * alignment_)));
  EXPECT_FALSE(run(request(IoKind::write, block_offset(7), two)).result.has_error());
  EXPECT_EQ(device_->counters().writes, 2U) << "taking space is no write";
  EXPECT_EQ(device_->counters().errors, 0U);
}

TEST_P(DeviceContract, SyncsWhatWasWritten) {
  AlignedBuffer memory = blocks(1);
  ASSERT_FALSE(
      run(request(IoKind::write, block_offset(2), memory.span().first(alignment_))).result.has_error());
  const IoCompletion synced = run(request(IoKind::sync, block_offset(2), {}, 9));
  ASSERT_FALSE(synced.result.has_error()) << synced.result.error().message();
  EXPECT_EQ(synced.tag, 9U);
  EXPECT_EQ(synced.kind, IoKind::sync);
  EXPECT_EQ(synced.bytes, 0U);
  EXPECT_FALSE(device_->sync().has_error());
  EXPECT_EQ(device_->counters().errors, 0U);
}

TEST_P(DeviceContract, RefusesSpaceAndSyncsThatMakeNoSense) {
  AlignedBuffer memory = blocks(1);
  const std::int64_t capacity = device_->geometry().capacity.value();
  const auto space = [](std::int64_t offset, std::int64_t length, std::span<std::byte> buffer = {}) {
    return IoRequest{IoKind::allocate, offset, buffer, 0, length};
  };
  const std::array<IoRequest, 8> wrong = {
      space(0, 0),
      space(0, -block_offset(1)),
      space(block_offset(1) / 2, block_offset(1)),
      space(0, block_offset(1) / 2),
      space(capacity, block_offset(1)),
      space(0, block_offset(1), memory.span().first(alignment_)),
      request(IoKind::sync, capacity, {}),
      request(IoKind::sync, 0, memory.span().first(alignment_)),
  };
  for (const IoRequest& asked : wrong) {
    const Result<void> refused = device_->submit(asked);
    ASSERT_TRUE(refused.has_error()) << to_string(asked.kind) << " at " << asked.offset;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input) << refused.error().message();
  }
  EXPECT_EQ(device_->in_flight(), 0U);
}

TEST_P(DeviceContract, KeepsEachTransferWithinOneFile) {
  const Geometry limits = device_->geometry();
  if (limits.piece == Bytes(0)) GTEST_SKIP() << "one file";
  AlignedBuffer memory = blocks(2);
  const std::span<std::byte> two = memory.span().first(2 * alignment_);
  for (const std::int64_t border : {limits.head.value(), (limits.head + limits.piece).value()}) {
    if (border == 0) continue;
    for (const IoKind kind : {IoKind::read, IoKind::write}) {
      const Result<void> refused = device_->submit(request(kind, border - block_offset(1), two));
      ASSERT_TRUE(refused.has_error()) << border;
      EXPECT_EQ(refused.error().kind, ErrorKind::bad_input) << refused.error().message();
    }
    EXPECT_FALSE(run(request(IoKind::write, border - block_offset(2), two)).result.has_error());
    EXPECT_FALSE(run(request(IoKind::write, border, two)).result.has_error());
  }
}

TEST_P(DeviceContract, AWakingCallIsNoCompletion) {
  AlignedBuffer memory = blocks(1);
  for (std::uint64_t round = 0; round < 20; ++round) {
    ASSERT_FALSE(
        device_->submit(request(IoKind::read, 0, memory.span().first(alignment_), round)).has_error());
    device_->wake();
    std::array<IoCompletion, 4> out;
    std::size_t ended = 0;
    for (int polls = 0; ended == 0 && polls < 3; ++polls) ended = *device_->poll(out, kPatience);
    ASSERT_EQ(ended, 1U);
    EXPECT_EQ(out[0].tag, round);
  }
}

}  // namespace fulcrum::test
