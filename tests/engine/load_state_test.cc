// What a load shows its host, step by step, without an engine.
#include "engine/load_state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/engine/waiting.h"
#include "tiers/row_pool.h"

namespace fulcrum::engine {
namespace {

using test::Task;

constexpr std::size_t kRow = 4096;

class LoadStateTest : public testing::Test {
 protected:
  std::shared_ptr<LoadState> make(std::uint32_t count, LoadOptions options = {}) {
    auto hooks = std::make_shared<LoadHooks>();
    hooks->released = [this](LoadId) { ++released_; };
    hooks->dropped = [this](LoadId) { ++dropped_; };
    hooks->on_engine = [this](std::function<void()> call) { calls_.push_back(std::move(call)); };
    return std::make_shared<LoadState>(7, Plan{}, 0, count, std::move(options), kRow, hooks);
  }
  Lease lease(int value) {
    auto rows = pool_->take(1);
    std::memset(rows->front().data(), value, kRow);
    return std::make_shared<Row>(std::move(rows->front()));
  }
  void run() {
    for (auto& call : std::exchange(calls_, {})) call();
  }
  std::shared_ptr<RowPool> pool_ = *RowPool::create({.row_bytes = Bytes(kRow), .rows = 16});
  std::vector<std::function<void()>> calls_;
  int released_ = 0;
  int dropped_ = 0;
};

TEST_F(LoadStateTest, BlocksBecomeReadyFrontToBackWhateverTheOrderOfArrival) {
  const auto load = make(3);
  load->put(2, lease(2));
  EXPECT_EQ(load->progress().ready, 0U);
  load->put(0, lease(0));
  EXPECT_EQ(load->progress().ready, 1U);
  load->put(1, lease(1));
  EXPECT_EQ(load->progress().ready, 3U);
  EXPECT_EQ(load->progress().end, LoadEnd::complete);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(load->row(i)[100], std::byte(i));
}

TEST_F(LoadStateTest, NothingArrivesAfterTheEnd) {
  const auto load = make(3);
  load->put(0, lease(0));
  load->finish(LoadEnd::stopped);
  load->put(1, lease(1));
  EXPECT_EQ(load->progress().ready, 1U);
  EXPECT_EQ(load->progress().end, LoadEnd::stopped);
  load->finish(LoadEnd::cancelled);
  EXPECT_EQ(load->progress().end, LoadEnd::stopped) << "the first end counts";
}

TEST_F(LoadStateTest, RowsBeyondAGapAreGivenBackAtTheEnd) {
  const auto load = make(3);
  load->put(2, lease(2));
  load->finish(LoadEnd::stopped);
  EXPECT_EQ(pool_->free_rows(), pool_->rows());
}

TEST_F(LoadStateTest, ReleasedRowsAreFreeAndTheEngineIsTold) {
  const auto load = make(2);
  load->put(0, lease(0));
  load->put(1, lease(1));
  load->release(1);
  EXPECT_EQ(released_, 1);
  EXPECT_EQ(pool_->free_rows(), pool_->rows() - 1);
  EXPECT_EQ(load->row(1)[0], std::byte{1});
  EXPECT_DEATH((void)load->row(0), "not released");
}

TEST_F(LoadStateTest, ACopyIntoTheHostsRowsIsFinishedBeforeTheEndIsTold) {
  std::vector<std::byte> host(2 * kRow);
  const auto load = make(2, {.into = {host.data(), host.data() + kRow}});
  load->put(0, lease(5));
  EXPECT_EQ(load->progress().ready, 0U) << "arrived, not copied";
  std::uint32_t begin = 9;
  const auto rows = load->take_to_copy(begin);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(begin, 0U);
  load->finish(LoadEnd::stopped);
  EXPECT_EQ(load->progress().end, LoadEnd::running) << "a copy is still running";
  load->copied(1);
  EXPECT_EQ(load->progress().end, LoadEnd::stopped);
  EXPECT_EQ(load->progress().ready, 1U);
  EXPECT_TRUE(load->take_to_copy(begin).empty()) << "no copy begins after the end";
}

TEST_F(LoadStateTest, ProgressIsToldAfterEachStepAndTheEndOnce) {
  std::vector<LoadProgress> told;
  const auto load = make(3, {.on_progress = [&](const LoadProgress& now) { told.push_back(now); }});
  load->put(0, lease(0));
  run();
  load->put(2, lease(2));  // behind a gap
  run();
  load->finish(LoadEnd::cancelled);
  load->finish(LoadEnd::stopped);
  run();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].ready, 1U);
  EXPECT_EQ(told[0].end, LoadEnd::running);
  EXPECT_EQ(told[1].end, LoadEnd::cancelled);
}

TEST_F(LoadStateTest, StepsThatComeBeforeTheCallbackRunsAreToldInOneCall) {
  std::vector<LoadProgress> told;
  const auto load = make(3, {.on_progress = [&](const LoadProgress& now) { told.push_back(now); }});
  for (std::uint32_t i = 0; i < 3; ++i) load->put(i, lease(1));
  run();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].ready, 3U);
  EXPECT_EQ(told[0].end, LoadEnd::complete);
}

TEST_F(LoadStateTest, ACopyIsToldAsProgress) {
  std::vector<LoadProgress> told;
  std::vector<std::byte> host(2 * kRow);
  const auto load = make(2, {.into = {host.data(), host.data() + kRow},
                             .on_progress = [&](const LoadProgress& now) { told.push_back(now); }});
  load->put(0, lease(5));
  run();
  EXPECT_TRUE(told.empty()) << "arrived, not copied";
  std::uint32_t begin = 0;
  ASSERT_EQ(load->take_to_copy(begin).size(), 1U);
  load->copied(1);
  run();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].ready, 1U);
}

TEST_F(LoadStateTest, ACallbackIsDestroyedBehindTheLastCall) {
  const auto captured = std::make_shared<int>(1);
  const auto load = make(1, {.on_progress = [captured](const LoadProgress&) {}});
  load->finish(LoadEnd::stopped);
  EXPECT_EQ(captured.use_count(), 2);
  run();
  EXPECT_EQ(captured.use_count(), 1);
}

TEST_F(LoadStateTest, GivingUpDestroysTheCallbackAndTakesBackACallThatIsQueued) {
  const auto captured = std::make_shared<int>(1);
  int calls = 0;
  const auto load = make(2, {.on_progress = [captured, &calls](const LoadProgress&) { ++calls; }});
  load->put(0, lease(0));
  load->give_up();
  EXPECT_EQ(captured.use_count(), 1);
  run();
  EXPECT_EQ(calls, 0);
}

TEST_F(LoadStateTest, GivingUpWaitsForTheCopyingThreadAndForNobodyElse) {
  std::vector<std::byte> host(2 * kRow);
  const auto load = make(2, {.into = {host.data(), host.data() + kRow}});
  load->put(0, lease(5));
  std::uint32_t begin = 0;
  const auto rows = load->take_to_copy(begin);
  std::atomic<bool> done = false;
  std::thread copier([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = true;
    load->copied(1);
  });
  load->give_up();  // nothing that was queued for the engine thread runs meanwhile
  EXPECT_TRUE(done);
  copier.join();
  EXPECT_EQ(load->progress().end, LoadEnd::cancelled);
}

Task await(Load& load, std::uint32_t blocks, LoadProgress& out) {
  out = co_await load.until(blocks);
}

TEST_F(LoadStateTest, WhoAwaitsItKeepsItUntilItIsResumed) {
  auto load = make(2);
  LoadProgress seen;
  await(*load, 2, seen);
  load->put(0, lease(0));
  load->finish(LoadEnd::cancelled);
  const std::weak_ptr<LoadState> watched = load;
  load.reset();
  ASSERT_FALSE(watched.expired()) << "what it reads when it is resumed";
  run();
  EXPECT_EQ(seen.end, LoadEnd::cancelled);
  EXPECT_EQ(seen.ready, 1U);
  EXPECT_TRUE(watched.expired());
}

TEST_F(LoadStateTest, AWaitingThreadWakesAtTheEnd) {
  const auto load = make(2);
  LoadProgress seen;
  std::thread waiter([&] { seen = load->wait(2); });
  load->put(0, lease(0));
  load->finish(LoadEnd::stopped);
  waiter.join();
  EXPECT_EQ(seen.ready, 1U);
  EXPECT_EQ(seen.end, LoadEnd::stopped);
}

TEST_F(LoadStateTest, GivingUpEndsTheLoadAndTellsTheEngine) {
  const auto load = make(2);
  load->put(0, lease(0));
  load->give_up();
  EXPECT_EQ(dropped_, 1);
  EXPECT_EQ(pool_->free_rows(), pool_->rows());
}

TEST_F(LoadStateTest, ALoadOfNothingEndsAsItIsTold) {
  for (const LoadEnd end : {LoadEnd::complete, LoadEnd::cancelled}) {
    const auto load = make(0);
    load->finish(end);
    EXPECT_EQ(load->progress().end, end);
  }
}

}  // namespace
}  // namespace fulcrum::engine
