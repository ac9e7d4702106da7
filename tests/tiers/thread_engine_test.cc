// The thread engine when the system calls under it fall short, fail, or never return.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/random.h"
#include "tests/support/scratch.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_device.h"
#include "tiers/raw_io.h"

namespace fulcrum::test {
namespace {

constexpr std::size_t kSize = std::size_t{256} << 10;

/// Answers with `code` in two of three calls, and moves at most `most` bytes in the others.
class FitfulIo final : public RawIo {
 public:
  FitfulIo(int code, std::size_t most) : code_(code), most_(most) {}
  std::int64_t read(int descriptor, std::span<std::byte> buffer, std::int64_t offset) override {
    if (refuses()) return -code_;
    return RawIo::read(descriptor, buffer.first(std::min(buffer.size(), most_)), offset);
  }
  std::int64_t write(int descriptor, std::span<const std::byte> buffer, std::int64_t offset) override {
    if (refuses()) return -code_;
    return RawIo::write(descriptor, buffer.first(std::min(buffer.size(), most_)), offset);
  }

 private:
  bool refuses() { return code_ != 0 && ++calls_ % 3 != 0; }
  int code_;
  std::size_t most_;
  std::atomic<int> calls_{0};
};

/// Always the same answer.
class StuckIo final : public RawIo {
 public:
  explicit StuckIo(std::int64_t answer) : answer_(answer) {}
  std::int64_t read(int, std::span<std::byte>, std::int64_t) override { return answer_; }
  std::int64_t write(int, std::span<const std::byte>, std::int64_t) override { return answer_; }

 private:
  std::int64_t answer_;
};

/// A dead mount: does not return until it is let go.
class HangingIo final : public RawIo {
 public:
  std::int64_t read(int, std::span<std::byte>, std::int64_t) override {
    std::unique_lock lock(mutex_);
    ++hanging_;
    ++calls_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_; });
    --hanging_;
    changed_.notify_all();
    return -EIO;
  }
  void wait_until_hanging(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return hanging_ == count; });
  }
  [[nodiscard]] int calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int hanging_ = 0;
  int calls_ = 0;
  bool released_ = false;
};

class ThreadEngineTest : public testing::Test {
 protected:
  std::unique_ptr<FileDevice> open(std::shared_ptr<RawIo> raw_io, std::size_t threads = 4,
                                   DirectChoice direct = DirectChoice::automatic) {
    auto opened = FileDevice::open(directory_.path(), {.size = Bytes(kSize),
                                                       .direct = direct,
                                                       .engine = EngineChoice::threads,
                                                       .depth_max = 16,
                                                       .threads_max = threads,
                                                       .close_limit = Seconds(0.05),
                                                       .raw_io = std::move(raw_io)});
    EXPECT_FALSE(opened.has_error()) << opened.error().message();
    return std::move(*opened);
  }
  static IoCompletion run(Device& device, IoKind kind, std::span<std::byte> buffer) {
    IoCompletion completion;
    EXPECT_FALSE(device.submit({kind, 0, buffer, 1}).has_error());
    EXPECT_EQ(*device.poll({&completion, 1}, Seconds(20)), 1U);
    return completion;
  }
  ScratchDirectory directory_;
  AlignedBuffer source_ = *AlignedBuffer::allocate(kSize);
  AlignedBuffer target_ = *AlignedBuffer::allocate(kSize);
};

TEST_F(ThreadEngineTest, MovesAllBytesThroughShortAndInterruptedCalls) {
  struct Case {
    DirectChoice direct;
    std::size_t most;
  };
  Random(9).fill(source_.span());
  for (const int code : {0, EINTR, EAGAIN}) {
    for (const Case& fits : {Case{DirectChoice::automatic, 20480}, Case{DirectChoice::buffered, 20001}}) {
      const auto device = open(std::make_shared<FitfulIo>(code, fits.most), 4, fits.direct);
      EXPECT_FALSE(run(*device, IoKind::write, source_.span()).result.has_error());
      const IoCompletion done = run(*device, IoKind::read, target_.span());
      EXPECT_FALSE(done.result.has_error());
      EXPECT_EQ(done.bytes, kSize);
      EXPECT_TRUE(std::ranges::equal(source_.span(), target_.span()));
      EXPECT_EQ(device->counters().resumed, 2 * (kSize / fits.most));
      std::ranges::fill(target_.span(), std::byte{0});
    }
  }
}

TEST_F(ThreadEngineTest, ReportsAnErrorAsItsKindWithPlaceAndNextStep) {
  const auto device = open(std::make_shared<StuckIo>(-EIO));
  const IoCompletion done = run(*device, IoKind::write, source_.span());
  ASSERT_TRUE(done.result.has_error());
  EXPECT_EQ(done.result.error().kind, ErrorKind::device);
  EXPECT_NE(done.result.error().message().find(directory_.path()), std::string::npos);
  EXPECT_FALSE(done.result.error().next_step.empty());
  EXPECT_EQ(device->counters().errors, 1U);
}

TEST_F(ThreadEngineTest, GivesUpOnASystemThatIsAlwaysOutOfResources) {
  const auto device = open(std::make_shared<StuckIo>(-EAGAIN));
  EXPECT_EQ(run(*device, IoKind::read, target_.span()).result.error().kind, ErrorKind::busy);
}

TEST_F(ThreadEngineTest, GivesUpOnCallsThatMoveNothing) {
  const auto device = open(std::make_shared<StuckIo>(0));
  EXPECT_EQ(run(*device, IoKind::write, source_.span()).result.error().kind, ErrorKind::device);
  EXPECT_EQ(run(*device, IoKind::read, target_.span()).result.error().kind, ErrorKind::device);
}

TEST_F(ThreadEngineTest, PollAndCloseAreBoundedWhenNothingEverReturns) {
  const auto hanging = std::make_shared<HangingIo>();
  auto device = open(hanging, 2);
  for (std::uint64_t i = 0; i < 6; ++i) {  // two hang, four wait behind them
    ASSERT_FALSE(device->submit({IoKind::read, 0, target_.span().first(4096), i}).has_error());
  }
  hanging->wait_until_hanging(2);
  const SteadyClock clock;
  const Seconds start = clock.now();
  IoCompletion out;
  EXPECT_EQ(*device->poll({&out, 1}, Seconds(0.01)), 0U);
  device.reset();
  EXPECT_LT(clock.now() - start, Seconds(2));
  hanging->release();
  // The workers left behind hold the last other references; what waited behind them is never started.
  SteadyClock steady;
  for (int i = 0; i < 5000 && hanging.use_count() > 1; ++i) steady.sleep(1_ms);
  EXPECT_EQ(hanging.use_count(), 1);
  EXPECT_EQ(hanging->calls(), 2);
}

}  // namespace
}  // namespace fulcrum::test
