#include "tiers/dram_tier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "tests/tiers/tier_contract.h"
#include "tests/tiers/tier_contract_host.h"

namespace fulcrum::test {
namespace {

constexpr Bytes kRowBytes{5000};
constexpr std::size_t kRows = 96;

Result<TierUnderTest> make_dram(bool shared) {
  auto pool = RowPool::create({.row_bytes = kRowBytes, .rows = kRows + 8, .shared = shared});
  if (pool.has_error()) return pool.error();
  auto clock = std::make_shared<ManualClock>();
  auto tier = std::make_unique<DramTier>(*pool, kRowBytes * static_cast<std::int64_t>(kRows), *clock);
  return TierUnderTest{clock, std::move(tier)};
}

INSTANTIATE_TEST_SUITE_P(Dram, TierContract, on_all_laws({"private", [] { return make_dram(false); }}),
                         law_name);
INSTANTIATE_TEST_SUITE_P(DramShared, TierContract, on_all_laws({"shared", [] { return make_dram(true); }}),
                         law_name);

class DramTierTest : public testing::Test {
 protected:
  void make(std::size_t rows, std::size_t pool_rows, Bytes row_bytes = kRowBytes) {
    auto pool = RowPool::create({.row_bytes = row_bytes, .rows = pool_rows});
    ASSERT_TRUE(pool.has_value()) << pool.error().message();
    pool_ = *pool;
    tier_ =
        std::make_unique<DramTier>(pool_, row_bytes * static_cast<std::int64_t>(rows) + Bytes(100), clock_);
  }
  [[nodiscard]] std::size_t rows_used() const {
    return static_cast<std::size_t>(tier_->status().used.value() / tier_->row_bytes().value());
  }
  ManualClock clock_;
  std::shared_ptr<RowPool> pool_;
  std::unique_ptr<DramTier> tier_;
};

TEST_F(DramTierTest, CountsReservedAndLeasedRowsAgainstItsCapacity) {
  make(4, 16);
  const Chain chain = make_chain(6, 1);
  auto reserved = tier_->reserve(3);
  ASSERT_TRUE(reserved.has_value());
  EXPECT_FALSE(tier_->reserve(2).has_value());
  EXPECT_EQ(rows_used(), 3U);
  for (std::size_t i = 0; i < 3; ++i) fill_content(chain.keys[i], (*reserved)[i].bytes());
  tier_->publish(chain.parent, 0, chain.part(0, 3).keys, std::move(*reserved), 1);
  EXPECT_EQ(rows_used(), 3U);
  EXPECT_EQ(tier_->status().live, kRowBytes * 3);

  Lease lease = tier_->lease(chain.keys[1]);
  tier_->erase(chain.part(0, 3).keys);
  EXPECT_EQ(rows_used(), 1U) << "an erased block that is leased counts";
  EXPECT_EQ(tier_->status().blocks, 0U);
  EXPECT_EQ(tier_->lease(chain.keys[1]), nullptr);
  std::vector<std::byte> right(static_cast<std::size_t>(kRowBytes.value()));
  fill_content(chain.keys[1], right);
  EXPECT_EQ(std::memcmp(lease->data(), right.data(), right.size()), 0);
  EXPECT_FALSE(tier_->reserve(4).has_value());
  lease.reset();
  EXPECT_TRUE(tier_->reserve(4).has_value());
  EXPECT_EQ(rows_used(), 0U) << "rows that are dropped unpublished are free again";
}

TEST_F(DramTierTest, KeepsTheRowThatItHasWhereAKeyIsPublishedAgain) {
  make(4, 8);
  const Chain chain = make_chain(1, 2);
  for (int time = 0; time < 2; ++time) {
    auto rows = tier_->reserve(1);
    std::memset((*rows)[0].data(), 10 + time, (*rows)[0].bytes().size());
    tier_->publish(chain.parent, 0, chain.keys, std::move(*rows), static_cast<float>(time));
  }
  EXPECT_EQ(rows_used(), 1U);
  EXPECT_EQ(tier_->lease(chain.keys[0])->bytes()[0], std::byte{10});
  tier_->each_run([](const StoredRun& run) { EXPECT_EQ(run.worth, 1.F); });
}

TEST_F(DramTierTest, FailsAWriteThatDoesNotFitAsAWholeAndSaysWhatIsMissing) {
  make(4, 16);
  TierHost host(*tier_);
  const Chain chain = make_chain(6, 3);
  host.store(chain.part(0, 2));
  const JobId id = host.write(chain);
  host.drain();
  const Error& error = host.job(id).result.error();
  EXPECT_EQ(error.kind, ErrorKind::no_space);
  EXPECT_NE(error.message().find("4 rows are wanted, 2 of 4 are free"), std::string::npos) << error.message();
  EXPECT_EQ(rows_used(), 2U);
  host.store(chain.part(0, 4));  // what is held needs no row
  EXPECT_EQ(host.violations(), Violations{});
}

TEST_F(DramTierTest, CopiesABoundedShareAPollAndTheUrgentFirst) {
  make(6, 12, 3_MiB);
  TierHost host(*tier_);
  const Chain chain = make_chain(6, 4);
  const JobId write = host.write(chain);
  EXPECT_TRUE(host.poll(Seconds(0)));
  EXPECT_EQ(host.job(write).blocks, 3U) << "8 MiB hold two blocks of 3 MiB and the begin of a third";
  host.drain();
  const JobId preload = host.read(chain, Urgency::preload);
  const JobId load = host.read(chain.part(0, 3), Urgency::load);
  EXPECT_TRUE(host.poll(Seconds(0)));
  EXPECT_EQ(host.job(load).ends, 1);
  EXPECT_EQ(host.job(preload).blocks, 0U);
  host.drain();
  EXPECT_EQ(host.violations(), Violations{});
}

TEST_F(DramTierTest, CopiesARowThatIsLargerThanItsShare) {
  make(2, 4, 9_MiB);
  TierHost host(*tier_);
  host.store(make_chain(2, 5));
  host.expect_readable(make_chain(2, 5));
  EXPECT_EQ(host.violations(), Violations{});
}

TEST_F(DramTierTest, InterruptsWhatDoesNotEndBeforeItsCloseLimit) {
  make(8, 16);
  TierHost host(*tier_);
  host.store(make_chain(4, 6));
  const JobId read = host.read(make_chain(4, 6));
  EXPECT_EQ(tier_->close(Seconds(0)).error().kind, ErrorKind::timed_out);
  host.drain();
  EXPECT_EQ(host.job(read).result.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(tier_->in_flight(), 0U);
}

TEST_F(DramTierTest, ReadsABlockWholeThatIsErasedOnTheWay) {
  make(12, 24);
  TierHost host(*tier_);
  const Chain chain = make_chain(6, 7);
  host.store(chain);
  const JobId read = host.read(chain);
  tier_->erase(chain.keys);
  EXPECT_EQ(rows_used(), 6U);
  host.drain();
  EXPECT_FALSE(host.job(read).result.has_error());
  EXPECT_EQ(rows_used(), 0U);
  EXPECT_EQ(host.violations(), Violations{});
}

/// Ends leases in threads of its own.
class LeaseEnder {
 public:
  explicit LeaseEnder(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~LeaseEnder() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void end(Lease lease) {
    {
      const std::lock_guard lock(mutex_);
      leases_.push_back(std::move(lease));
    }
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      Lease lease;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return over_ || !leases_.empty(); });
      if (leases_.empty()) return;
      lease = std::move(leases_.front());
      leases_.pop_front();
      lock.unlock();
      sum_ += std::to_integer<unsigned>(*lease->data());  // a read that a race detector sees
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Lease> leases_;
  bool over_ = false;
  std::atomic<unsigned> sum_ = 0;
  std::vector<std::thread> threads_;
};

// used() lies between what must be counted and the cap at every moment, whatever is done in whatever order.
TEST_F(DramTierTest, NeverExceedsItsCapacityAndNeverLosesARow) {
  constexpr std::size_t kCap = 24;
  constexpr std::uint64_t kSeed = 77;
  make(kCap, kCap + 8);
  Random random(kSeed);
  {
    LeaseEnder ender(2);
    TierHost host(*tier_);
    std::deque<std::vector<Row>> reserved;
    std::vector<Lease> leases;
    for (int step = 0; step < 4000; ++step) {
      const Chain whole = make_chain(10, static_cast<std::int32_t>(random.below(6)));
      const std::size_t begin = random.below(10);
      const Chain part = whole.part(begin, 1 + random.below(10 - begin));
      switch (random.below(8)) {
        case 0:
          if (auto rows = tier_->reserve(part.keys.size())) reserved.push_back(std::move(*rows));
          break;
        case 1:
          if (reserved.empty()) break;
          if (const std::size_t count = reserved.front().size(); random.below(3) > 0) {
            const Chain run = whole.part(0, count);
            for (std::size_t i = 0; i < count; ++i) fill_content(run.keys[i], reserved.front()[i].bytes());
            tier_->publish(run.parent, 0, run.keys, std::move(reserved.front()), 1);
          }
          reserved.pop_front();
          break;
        case 2:
          if (Lease lease = tier_->lease(part.keys[0])) leases.push_back(std::move(lease));
          break;
        case 3:
          if (leases.empty()) break;
          ender.end(std::move(leases.back()));
          leases.pop_back();
          break;
        case 4:
          tier_->erase(part.keys);
          break;
        case 5:
          host.write(part);
          break;
        case 6:
          host.read(part);
          break;
        default:
          host.poll(Seconds(0));
      }
      const TierStatus status = tier_->status();
      const std::size_t used = static_cast<std::size_t>(status.used.value() / kRowBytes.value());
      std::size_t waiting = 0;
      for (const auto& rows : reserved) waiting += rows.size();
      ASSERT_LE(used, kCap) << "seed " << kSeed << ", step " << step;
      ASSERT_GE(used, status.blocks + waiting) << "seed " << kSeed << ", step " << step;
      ASSERT_GE(kCap + 8 - pool_->free_rows(), status.blocks + waiting);
    }
    host.drain();
    EXPECT_EQ(host.violations(), Violations{}) << "seed " << kSeed;
  }
  std::vector<BlockKey> all;
  tier_->each_run([&](const StoredRun& run) { all.insert(all.end(), run.keys.begin(), run.keys.end()); });
  tier_->erase(all);
  EXPECT_EQ(rows_used(), 0U);
  EXPECT_EQ(pool_->free_rows(), kCap + 8);
}

TEST_F(DramTierTest, LeasesOutliveTheTierAndThePoolsOwner) {
  make(4, 8);
  TierHost host(*tier_);
  const Chain chain = make_chain(1, 8);
  host.store(chain);
  const Lease lease = tier_->lease(chain.keys[0]);
  tier_.reset();
  pool_.reset();
  std::vector<std::byte> right(static_cast<std::size_t>(kRowBytes.value()));
  fill_content(chain.keys[0], right);
  EXPECT_TRUE(std::ranges::equal(lease->bytes(), right));
}

using DramTierDeathTest = DramTierTest;

TEST_F(DramTierDeathTest, TakesNoRowsThatItDidNotReserve) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  make(4, 8);
  const Chain chain = make_chain(1, 9);
  EXPECT_DEATH(tier_->publish(chain.parent, 0, chain.keys, std::move(*pool_->take(1)), 1), "did not reserve");
}

}  // namespace
}  // namespace fulcrum::test
