#include "policy/write_budget.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace fulcrum {
namespace {

TEST(WriteBudget, NeverSpendsMoreThanItsLimit) {
  const BytesPerSecond rate(100);
  const Bytes burst(500);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    WriteBudget budget(rate, burst);
    std::vector<std::pair<double, std::int64_t>> spent;
    double now = 0;
    for (int i = 0; i < 400; ++i) {
      now += random.exponential() * 0.3;
      budget.advance(Seconds(now));
      const std::uint32_t blocks = budget.affords(static_cast<std::uint32_t>(1 + random.below(20)), Bytes(7));
      budget.spend(Bytes(7) * static_cast<std::int64_t>(blocks));
      spent.emplace_back(now, 7 * static_cast<std::int64_t>(blocks));
    }
    std::int64_t all = 0;
    for (std::size_t from = 0; from < spent.size(); ++from) {
      std::int64_t window = 0;
      for (std::size_t to = from; to < spent.size(); ++to) {
        window += spent[to].second;
        ASSERT_LE(static_cast<double>(window), 500 + 100 * (spent[to].first - spent[from].first) + 1e-6);
      }
      all = std::max(all, window);
    }
    EXPECT_GT(static_cast<double>(all), 0.9 * 100 * now) << "and it lets the limit be used";
  }
}

TEST(WriteBudget, WithoutALimitLetsEverythingThrough) {
  WriteBudget budget;
  budget.spend(Bytes(1) * (std::int64_t{1} << 60));
  EXPECT_EQ(budget.affords(1'000'000, Bytes(1) * (std::int64_t{1} << 40)), 1'000'000U);
}

}  // namespace
}  // namespace fulcrum
