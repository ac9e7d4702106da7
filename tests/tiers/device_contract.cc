#include "tests/tiers/device_contract.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <vector>

#include "base/random.h"

namespace fulcrum::test {
namespace {

constexpr Seconds kPatience = Seconds(20);
constexpr std::uint64_t kSeed = 20260;

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

}  // namespace

void DeviceContract::SetUp() {
  auto made = GetParam().make();
  if (made.has_error()) {
    const ErrorKind kind = made.error().kind;
    if (kind == ErrorKind::unsupported || kind == ErrorKind::permission)
      GTEST_SKIP() << made.error().message();
    FAIL() << made.error().message();
  }
  device_ = std::move(*made);
  alignment_ = device_->geometry().alignment;
  ASSERT_GE(device_->geometry().capacity, 1_MiB);
  ASSERT_GE(device_->geometry().depth_max, 4U);
  ASSERT_LE(device_->geometry().depth_max, 64U);
}

AlignedBuffer DeviceContract::blocks(std::size_t count) const {
  auto buffer = AlignedBuffer::allocate(count * alignment_);
  EXPECT_TRUE(buffer.has_value());
  return std::move(*buffer);
}

IoCompletion DeviceContract::run(const IoRequest& asked) {
  IoCompletion completion;
  const Result<void> started = device_->submit(asked);
  EXPECT_FALSE(started.has_error()) << started.error().message();
  const auto count = device_->poll({&completion, 1}, kPatience);
  EXPECT_FALSE(count.has_error()) << count.error().message();
  EXPECT_EQ(*count, 1U);
  return completion;
}

void DeviceContract::drain() {
  std::array<IoCompletion, 8> out;
  while (device_->in_flight() > 0) {
    const auto count = device_->poll(out, kPatience);
    ASSERT_TRUE(count.has_value()) << count.error().message();
    ASSERT_GT(*count, 0U) << "a request never ended";
  }
}

TEST_P(DeviceContract, ReadsBackWhatWasWrittenAtRandomPlacesWithManyInFlight) {
  const Geometry limits = device_->geometry();
  const std::size_t piece = std::max<std::size_t>(alignment_, 16384);
  const auto places = static_cast<std::size_t>(limits.capacity.value()) / piece;
  auto source = AlignedBuffer::allocate(places * piece);
  auto target = AlignedBuffer::allocate(places * piece);
  ASSERT_TRUE(source.has_value() && target.has_value());
  Random random(kSeed);
  random.fill(source->span());

  for (const IoKind kind : {IoKind::write, IoKind::read}) {
    std::vector<std::size_t> order(places);
    for (std::size_t i = 0; i < places; ++i) order[i] = i;
    for (std::size_t i = places; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::set<std::uint64_t> ended;
    std::array<IoCompletion, 5> out;
    for (std::size_t next = 0; ended.size() < places;) {
      while (next < places && device_->in_flight() < limits.depth_max) {
        const std::size_t at = order[next++] * piece;
        const std::span<std::byte> memory = kind == IoKind::write ? source->span() : target->span();
        const Result<void> started = device_->submit(
            request(kind, static_cast<std::int64_t>(at), memory.subspan(at, piece), at / piece));
        ASSERT_FALSE(started.has_error()) << started.error().message();
      }
      const auto count = device_->poll(out, kPatience);
      ASSERT_TRUE(count.has_value()) << count.error().message();
      ASSERT_GT(*count, 0U);
      for (const IoCompletion& completion : std::span(out).first(*count)) {
        ASSERT_FALSE(completion.result.has_error()) << completion.result.error().message();
        EXPECT_EQ(completion.bytes, piece);
        EXPECT_EQ(completion.kind, kind);
        EXPECT_GE(completion.latency, Seconds(0));
        EXPECT_TRUE(ended.insert(completion.tag).second) << "tag " << completion.tag << " came twice";
      }
    }
    EXPECT_EQ(device_->in_flight(), 0U);
  }
  EXPECT_TRUE(same(source->span(), target->span())) << "seed " << kSeed;
}

TEST_P(DeviceContract, ALaterWriteReplacesAnEarlierOneAndOnlyWhereItFell) {
  AlignedBuffer first = blocks(4);
  AlignedBuffer second = blocks(2);
  std::fill_n(first.data(), 4 * alignment_, std::byte{1});
  std::fill_n(second.data(), 2 * alignment_, std::byte{2});
  run(request(IoKind::write, block_offset(8), first.span().first(4 * alignment_)));
  run(request(IoKind::write, block_offset(9), second.span().first(2 * alignment_)));
  AlignedBuffer seen = blocks(4);
  run(request(IoKind::read, block_offset(8), seen.span().first(4 * alignment_)));
  for (std::size_t block = 0; block < 4; ++block) {
    const std::byte expected = block == 1 || block == 2 ? std::byte{2} : std::byte{1};
    const auto bytes = seen.span().subspan(block * alignment_, alignment_);
    EXPECT_TRUE(std::ranges::all_of(bytes, [&](std::byte b) { return b == expected; })) << "block " << block;
  }
}

TEST_P(DeviceContract, RefusesMoreThanItsDepthAndTakesThemAfterAPoll) {
  const std::size_t depth = device_->geometry().depth_max;
  AlignedBuffer memory = blocks(depth + 1);
  const auto block = [&](std::size_t i) { return memory.span().subspan(i * alignment_, alignment_); };
  for (std::size_t i = 0; i < depth; ++i) {
    ASSERT_FALSE(device_->submit(request(IoKind::read, 0, block(i), i)).has_error());
  }
  EXPECT_EQ(device_->in_flight(), depth);
  const Result<void> refused = device_->submit(request(IoKind::read, 0, block(depth), depth));
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_EQ(device_->in_flight(), depth);
  IoCompletion one;
  ASSERT_EQ(*device_->poll({&one, 1}, kPatience), 1U);
  EXPECT_FALSE(device_->submit(request(IoKind::read, 0, block(depth), depth)).has_error());
  drain();
  EXPECT_EQ(device_->counters().reads, depth + 1);
  EXPECT_EQ(device_->counters().errors, 0U) << "a refusal is no failure of the device";
}

TEST_P(DeviceContract, RefusesWhatIsMisaligned) {
  AlignedBuffer memory = blocks(4);
  const std::size_t half = alignment_ / 2;
  const std::array<IoRequest, 3> wrong = {
      request(IoKind::read, static_cast<std::int64_t>(half), memory.span().first(alignment_)),
      request(IoKind::read, 0, memory.span().first(half)),
      request(IoKind::write, 0, memory.span().subspan(half, alignment_)),
  };
  for (const IoRequest& asked : wrong) {
    const Result<void> refused = device_->submit(asked);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input) << refused.error().message();
  }
  EXPECT_EQ(device_->in_flight(), 0U);
}

TEST_P(DeviceContract, RefusesWhatIsOutsideItsCapacity) {
  AlignedBuffer memory = blocks(2);
  const std::int64_t capacity = device_->geometry().capacity.value();
  const std::int64_t step = block_offset(1);
  const std::int64_t furthest = std::numeric_limits<std::int64_t>::max() / step * step;
  const std::span<std::byte> two = memory.span().first(2 * alignment_);
  for (const std::int64_t offset : {-step, capacity, capacity - step, furthest}) {
    const Result<void> refused = device_->submit(request(IoKind::read, offset, two));
    ASSERT_TRUE(refused.has_error()) << offset;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input) << refused.error().message();
  }
  EXPECT_TRUE(device_->submit(request(IoKind::read, 0, two.first(0))).has_error());
  EXPECT_EQ(device_->in_flight(), 0U);
  EXPECT_FALSE(run(request(IoKind::read, capacity - 2 * step, two)).result.has_error());
}

TEST_P(DeviceContract, PollingWithNothingInFlightReturnsAtOnce) {
  IoCompletion out;
  EXPECT_EQ(*device_->poll({&out, 1}, Seconds(1e6)), 0U);
}

TEST_P(DeviceContract, PollingIntoNothingTakesNothing) {
  AlignedBuffer memory = blocks(1);
  ASSERT_FALSE(device_->submit(request(IoKind::read, 0, memory.span().first(alignment_))).has_error());
  EXPECT_EQ(*device_->poll({}, kPatience), 0U);
  EXPECT_EQ(device_->in_flight(), 1U);
  drain();
}

TEST_P(DeviceContract, CountsRequestsAndBytesOfEachKind) {
  AlignedBuffer memory = blocks(3);
  run(request(IoKind::write, 0, memory.span().first(3 * alignment_)));
  run(request(IoKind::write, 0, memory.span().first(alignment_)));
  run(request(IoKind::read, 0, memory.span().first(2 * alignment_)));
  const DeviceCounters& counted = device_->counters();
  EXPECT_EQ(counted.writes, 2U);
  EXPECT_EQ(counted.reads, 1U);
  EXPECT_EQ(counted.write_bytes, Bytes(block_offset(4)));
  EXPECT_EQ(counted.read_bytes, Bytes(block_offset(2)));
  EXPECT_EQ(counted.errors, 0U);
}

TEST_P(DeviceContract, HasAnAlignmentThatIsAPowerOfTwoAndDividesItsCapacity) {
  EXPECT_EQ(alignment_ & (alignment_ - 1), 0U);
  EXPECT_EQ(device_->geometry().capacity.value() % static_cast<std::int64_t>(alignment_), 0);
}

TEST_P(DeviceContract, ClosesWithRequestsInFlight) {
  AlignedBuffer memory = blocks(4);  // outlives the device, as the contract asks
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_FALSE(
        device_->submit(request(IoKind::read, 0, memory.span().subspan(i * alignment_, alignment_), i))
            .has_error());
  }
  device_.reset();
}

}  // namespace fulcrum::test
