// The laws of write limits: in any window, through restarts, suspends and clocks that jump.
#include "policy/write_budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum {
namespace {

constexpr double kDay = 86400;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// When how many bytes were written, in true time.
class Written {
 public:
  void add(double time, std::int64_t bytes) { writes_.emplace_back(time, bytes); }
  /// Most bytes within any `span` seconds, ends included.
  [[nodiscard]] double most_within(double span) const {
    double most = 0;
    double sum = 0;
    std::size_t from = 0;
    for (const auto& [time, bytes] : writes_) {
      sum += static_cast<double>(bytes);
      for (; writes_[from].first < time - span; ++from) sum -= static_cast<double>(writes_[from].second);
      most = std::max(most, sum);
    }
    return most;
  }
  [[nodiscard]] double all() const { return most_within(kInfinity); }

 private:
  std::vector<std::pair<double, std::int64_t>> writes_;
};

/// Writes all that it may of up to `most` blocks of 7 bytes.
void write(WriteBudget& budget, std::uint32_t most, double true_time, Written& written) {
  const std::uint32_t blocks = budget.affords(most, Bytes(7));
  EXPECT_LE(blocks, most);
  const std::int64_t bytes = 7 * static_cast<std::int64_t>(blocks);
  budget.spend(Bytes(bytes));
  written.add(true_time, bytes);
}

WriteBudget of_a_day(Bytes limit) {
  WriteBudget budget;
  budget.limit_day(limit);
  return budget;
}

TEST(WriteBudget, NeverSpendsMoreThanItsLimit) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    WriteBudget budget(BytesPerSecond(100), Bytes(500));
    Written written;
    double now = 0;
    for (int i = 0; i < 400; ++i) {
      now += random.exponential() * 0.3;
      budget.advance(Seconds(now));
      write(budget, static_cast<std::uint32_t>(1 + random.below(20)), now, written);
    }
    for (int i = 0; i < 50; ++i) {
      const double span = now * random.uniform();
      ASSERT_LE(written.most_within(span), 500 + 100 * span + 1e-6);
    }
    EXPECT_GT(written.all(), 0.9 * 100 * now) << "and it lets the limit be used";
  }
}

TEST(WriteBudget, NoTwentyFourHoursHoldMoreThanTheLimitOfADay) {
  const Bytes limit(1'000'000);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    WriteBudget budget = of_a_day(limit);
    Written written;
    double now = 0;
    while (now < 5 * kDay) {
      // Bursts at any hour, pauses of seconds to a night.
      now += random.below(1000) == 0 ? random.uniform() * kDay / 2 : random.exponential() * 60;
      budget.advance(Seconds(now));
      write(budget, static_cast<std::uint32_t>(random.below(5000)), now, written);
    }
    EXPECT_LE(written.most_within(kDay), 1e6 + 1e-3);
    EXPECT_GT(written.most_within(kDay), 0.8e6) << "and it lets most of it be used";
  }
}

TEST(WriteBudget, ASteadyWriterGetsNineTenthsOfTheDay) {
  WriteBudget budget = of_a_day(Bytes(1'000'000'000));
  Written written;
  for (int step = 0; step < 86400; ++step) {
    const double now = 10.0 * step;
    budget.advance(Seconds(now));
    write(budget, 1'000'000, now, written);
  }
  EXPECT_NEAR(written.all(), 0.9e9 * 10 + 0.1e9, 1e6);
}

TEST(WriteBudget, BothLimitsHoldAtOnce) {
  WriteBudget budget(BytesPerSecond(50), Bytes(3000));
  budget.limit_day(Bytes(1'000'000));
  Written written;
  for (int step = 0; step < 3 * 17280; ++step) {
    const double now = 5.0 * step;
    budget.advance(Seconds(now));
    write(budget, 1'000'000, now, written);
  }
  EXPECT_LE(written.most_within(60), 3000 + 50 * 60 + 1e-6);
  EXPECT_LE(written.most_within(kDay), 1e6 + 1e-3);
}

TEST(WriteBudget, HoldsItsLimitsThroughRestartsInTrueTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    WriteBudget budget(BytesPerSecond(40), Bytes(2000));
    budget.limit_day(Bytes(1'000'000));
    Written written;
    double now = 0;
    double born = 0;  // each process counts its time from its start
    for (int i = 0; i < 4000; ++i) {
      now += random.exponential() * 100;
      budget.advance(Seconds(now - born));
      write(budget, static_cast<std::uint32_t>(random.below(5000)), now, written);
      if (random.below(20) != 0) continue;
      const WriteBudgetState saved = budget.state();
      const double down = random.exponential() * 2000;
      now += down;
      born = now;
      budget = WriteBudget(BytesPerSecond(40), Bytes(2000));
      budget.limit_day(Bytes(1'000'000));
      budget.restore(saved, Seconds(random.below(3) == 0 ? 0 : down * random.uniform()));
    }
    EXPECT_LE(written.most_within(kDay), 1e6 + 1e-3);
    EXPECT_LE(written.most_within(100), 2000 + 40 * 100 + 1e-6);
  }
}

TEST(WriteBudget, ARestartThatForgetsWouldBreakTheLimit) {
  Written written;
  for (int start = 0; start < 20; ++start) {
    const double now = start * kDay / 20;
    WriteBudget fresh = of_a_day(Bytes(1'000'000));  // the mutant: no restore()
    write(fresh, 1'000'000, now, written);
  }
  EXPECT_GT(written.most_within(kDay), 1.5e6);
}

TEST(WriteBudget, RestartsInALoopGiveNothing) {
  WriteBudgetState saved = of_a_day(Bytes(1'000'000)).state();
  Written written;
  for (int i = 0; i < 100; ++i) {
    WriteBudget budget = of_a_day(Bytes(1'000'000));
    budget.restore(saved, Seconds(0));
    write(budget, 1'000'000, i, written);
    saved = budget.state();
  }
  EXPECT_LE(written.all(), 1e5);
}

TEST(WriteBudget, KnowingOnlyTheBytesOfTheLastDayIsEnough) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    // As a process did that kept the law and left no more behind than the sum.
    WriteBudget before = of_a_day(Bytes(1'000'000));
    Written written;
    double now = 0;
    while (now < kDay) {
      before.advance(Seconds(now));
      write(before, static_cast<std::uint32_t>(random.below(20'000)), now, written);
      now += 300 * random.exponential();
    }
    WriteBudget after = of_a_day(Bytes(1'000'000));
    WriteBudgetState state = after.state();
    state.day_left -= written.most_within(kDay);
    after.restore(state, Seconds(0));
    const double born = now;
    while (now < 3 * kDay) {
      after.advance(Seconds(now - born));
      write(after, 1'000'000, now, written);
      now += 300 * random.exponential();
    }
    EXPECT_LE(written.most_within(kDay), 1e6 + 1e-3) << "round " << round;
  }
}

TEST(WriteBudget, AClockThatJumpsGivesNoMoreThanABurst) {
  WriteBudget budget = of_a_day(Bytes(1'000'000));
  Written written;
  write(budget, 1'000'000, 0, written);
  budget.advance(Seconds(1e12));  // a clock that counts a suspend of millennia
  write(budget, 1'000'000, 1, written);
  EXPECT_LE(written.all(), 2e5);
  const double before = written.all();
  budget.advance(Seconds(5));  // and back
  write(budget, 1'000'000, 2, written);
  EXPECT_LE(written.all() - before, 7);
}

TEST(WriteBudget, ASpoiltStateIsRepairedOnTheSafeSide) {
  for (const double down : {-5.0, kNoNumber, kInfinity, -kInfinity}) {
    WriteBudget budget = of_a_day(Bytes(1'000'000));
    budget.restore({kNoNumber, kNoNumber}, Seconds(down));
    EXPECT_EQ(budget.affords(1, Bytes(7)), 0U) << down;
  }
  WriteBudget indebted = of_a_day(Bytes(1'000'000));
  indebted.restore({0, -kInfinity}, Seconds(0));
  indebted.advance(Seconds(kDay - 60));
  EXPECT_EQ(indebted.affords(1, Bytes(7)), 0U);
  indebted.advance(Seconds(kDay + 60));
  EXPECT_EQ(indebted.affords(1, Bytes(7)), 1U) << "no debt outlasts a day";
  WriteBudget generous = of_a_day(Bytes(1'000'000));
  generous.restore({kInfinity, kInfinity}, Seconds(1e300));
  EXPECT_EQ(generous.affords(1'000'000, Bytes(1)), 100'000U);
}

TEST(WriteBudget, RestoringTakesAwayOnly) {
  WriteBudget budget = of_a_day(Bytes(1'000'000));
  budget.spend(Bytes(100'000));
  budget.restore({0, 1e5}, Seconds(kDay));
  EXPECT_EQ(budget.affords(1, Bytes(1)), 0U);
}

TEST(WriteBudget, WithoutALimitLetsEverythingThrough) {
  WriteBudget budget;
  budget.restore({0, -5}, Seconds(0));  // left by a policy that had limits
  budget.spend(Bytes(1) * (std::int64_t{1} << 60));
  budget.advance(Seconds(1));
  EXPECT_EQ(budget.affords(1'000'000, Bytes(1) * (std::int64_t{1} << 40)), 1'000'000U);
  EXPECT_TRUE(std::isinf(budget.state().left) && std::isinf(budget.state().day_left));
}

TEST(WriteBudget, OfADeciderSurvivesItsRestarts) {
  using namespace testing;
  PolicyConfig config = policy(Strategy::break_even, {{"dram", 64}, {"nvme", 100'000}});
  config.tiers[1].write_limit_per_day = block_bytes() * 1000;
  Bytes written{};
  WriteBudgetState saved;
  constexpr double kHour = 3600;
  for (std::uint32_t process = 0; process < 23; ++process) {  // an hour each
    Decider own = decider(config);
    EXPECT_TRUE(std::isinf(own.write_budget(0).day_left)) << "memory has no limit";
    if (process > 0) own.restore_write_budget(1, saved, Seconds(0));
    Host host(own);
    for (std::uint32_t i = 0; i < 60; ++i) {
      own.on_computed(chain(process * 1000 + i, 40), Seconds(i * kHour / 60));
      host.finish_all(Seconds(i * kHour / 60));
    }
    written += own.counters(1).written;
    saved = own.write_budget(1);
    EXPECT_LT(saved.day_left, static_cast<double>(block_bytes().value()) * 40) << "all is used";
  }
  EXPECT_LE(written, block_bytes() * 1000);
  EXPECT_GE(written, block_bytes() * 900);
}

}  // namespace
}  // namespace fulcrum
