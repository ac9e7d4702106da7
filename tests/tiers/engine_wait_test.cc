// Both engines while a device does not answer: polls can be woken, late answers arrive, closing is bounded.
//
// A pipe plays the device: a read from it ends when somebody has written into it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_set.h"
#include "tiers/raw_io.h"
#include "tiers/thread_engine.h"
#include "tiers/uring.h"

namespace fulcrum::test {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr Seconds kLong = Seconds(20);

class PipeFiles final : public FileSet {
 public:
  PipeFiles() : FileSet("the pipe", 1_MiB, 0_B, 0_B) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(pipe(ends.data()), 0);
    add(ends[0]);
    add(ends[1]);
  }
  /// Lets one read of a block end.
  void answer() const {
    const std::array<std::byte, kBlock> bytes{std::byte{7}};
    EXPECT_EQ(write(descriptors()[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

 private:
  [[nodiscard]] std::string path_of(std::size_t /*index*/) const override { return directory(); }
};

/// A pipe has no offsets.
class PipeIo final : public RawIo {
 public:
  std::int64_t read(int descriptor, std::span<std::byte> buffer, std::int64_t /*offset*/) override {
    return ::read(descriptor, buffer.data(), buffer.size());
  }
};

class EngineWait : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      engine_ = make_thread_engine(pipe_, {.depth_max = 8,
                                           .threads_max = 2,
                                           .close_limit = close_limit_,
                                           .raw_io = std::make_shared<PipeIo>()});
      return;
    }
    auto made = make_uring_engine(pipe_, {.depth_max = 8, .close_limit = close_limit_});
    if (made.has_error()) GTEST_SKIP() << made.error().message();
    engine_ = std::move(*made);
  }
  void TearDown() override {
    // Threads that hang in the pipe end when its other end says something.
    if (engine_ == nullptr) return;
    for (int i = 0; i < 8; ++i) pipe_->answer();
  }
  void start_read(std::uint64_t tag) {
    ASSERT_FALSE(engine_->start({.kind = IoKind::read, .offset = 0, .buffer = buffer_.span(), .tag = tag})
                     .has_error());
  }
  std::size_t collect(Seconds wait) {
    const auto count = engine_->collect(out_, wait);
    EXPECT_TRUE(count.has_value());
    return *count;
  }
  [[nodiscard]] Seconds since(Seconds start) const { return clock_.now() - start; }

  const Seconds close_limit_{0.1};
  AlignedBuffer buffer_ = *AlignedBuffer::allocate(kBlock);
  std::shared_ptr<PipeFiles> pipe_ = std::make_shared<PipeFiles>();
  std::unique_ptr<IoEngine> engine_;
  std::array<IoCompletion, 4> out_;
  SteadyClock clock_;
};

std::string name_of(const testing::TestParamInfo<bool>& parameter) {
  return parameter.param ? "uring" : "threads";
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineWait, testing::Values(true, false), name_of);

TEST_P(EngineWait, AWakingCallEndsAPollThatWaitsInAnotherThread) {
  constexpr std::uint64_t kRounds = 50;
  std::atomic<std::uint64_t> waiting{0};
  const Seconds start = clock_.now();
  std::thread poller([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      start_read(round);
      waiting = round;
      ASSERT_EQ(collect(kLong), 0U) << "a waking call is no completion";
      pipe_->answer();
      ASSERT_EQ(collect(kLong), 1U);
      ASSERT_EQ(out_[0].tag, round);
    }
  });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    while (waiting != round) std::this_thread::yield();
    if (round % 2 == 0) clock_.sleep(1_ms);  // in the other rounds it may come before the wait
    engine_->wake();
  }
  poller.join();
  EXPECT_LT(since(start), Seconds(10));
}

TEST_P(EngineWait, AWakingCallBeforeAPollEndsThatPollAndNoMore) {
  start_read(1);
  for (int i = 0; i < 1000; ++i) engine_->wake();
  const Seconds start = clock_.now();
  EXPECT_EQ(collect(kLong), 0U);
  EXPECT_LT(since(start), Seconds(5));
  const Seconds next = clock_.now();
  EXPECT_EQ(collect(Seconds(0.02)), 0U);
  EXPECT_GE(since(next), Seconds(0.02)) << "woken twice by one call";
  pipe_->answer();
  EXPECT_EQ(collect(kLong), 1U);
}

TEST_P(EngineWait, ALateAnswerArrives) {
  start_read(5);
  EXPECT_EQ(collect(Seconds(0.01)), 0U);
  pipe_->answer();
  ASSERT_EQ(collect(kLong), 1U);
  EXPECT_FALSE(out_[0].result.has_error());
  EXPECT_EQ(buffer_.data()[0], std::byte{7});
  EXPECT_GE(out_[0].latency, Seconds(0.01));
  EXPECT_EQ(collect(Seconds(0)), 0U) << "it came twice";
}

TEST_P(EngineWait, ClosingIsBoundedWhereNothingEverAnswers) {
  start_read(1);
  start_read(2);
  EXPECT_EQ(collect(Seconds(0.001)), 0U);
  const Seconds start = clock_.now();
  engine_.reset();
  EXPECT_GE(since(start), close_limit_);
  EXPECT_LT(since(start), Seconds(2));
  for (int i = 0; i < 2; ++i) pipe_->answer();  // for threads that were left behind
}

TEST_P(EngineWait, AnAnswerDuringClosingEndsIt) {
  start_read(1);
  EXPECT_EQ(collect(Seconds(0.001)), 0U);
  std::thread late([&] {
    clock_.sleep(5_ms);
    pipe_->answer();
  });
  const Seconds start = clock_.now();
  engine_.reset();
  EXPECT_LT(since(start), close_limit_);
  late.join();
}

}  // namespace
}  // namespace fulcrum::test
