#include "engine/load_state.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tiers/row_pool.h"

namespace fulcrum::engine {
namespace {

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

TEST_F(LoadStateTest, WhoeverWaitsIsCalledOnceWhenItsBlocksAreReadyOrTheLoadEnds) {
  std::vector<LoadProgress> told;
  const auto load = make(3, {.on_progress = [&](const LoadProgress& now) { told.push_back(now); }});
  load->put(0, lease(0));
  load->finish(LoadEnd::cancelled);
  run();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].ready, 1U);
  EXPECT_EQ(told[1].end, LoadEnd::cancelled);
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

TEST_F(LoadStateTest, ALoadOfNothingIsCompleteAtOnce) {
  EXPECT_EQ(make(0)->progress().end, LoadEnd::complete);
}

}  // namespace
}  // namespace fulcrum::engine
