// Before the end, what only memory holds moves down: the most valuable first, fronts before backs, within
// the write limits.
#include <gtest/gtest.h>

#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

constexpr Bytes kAll{std::int64_t{1} << 50};

PolicyConfig two_tiers(std::int64_t dram = 400, std::int64_t drive = 100'000) {
  return policy(Strategy::break_even, {{"dram", dram}, {"nvme", drive}});
}

/// Closes until nothing is left or the limits allow no more. Demotions, in their order.
std::vector<Order> close(Decider& own, Host& host, Seconds now, Bytes piece = kAll) {
  const std::size_t before = host.history().size();
  for (auto ordered = own.on_close(piece, now); ordered && *ordered > Bytes(0);
       ordered = own.on_close(piece, now)) {
    EXPECT_LE(*ordered, piece);
    host.finish_all(now);
  }
  std::vector<Order> demotions;
  for (std::size_t i = before; i < host.history().size(); ++i) {
    if (host.history()[i].kind == OrderKind::demote) demotions.push_back(host.history()[i]);
  }
  return demotions;
}

TEST(DeciderClose, WhatOnlyMemoryHoldsMovesDownWhole) {
  Decider own = decider(two_tiers());
  Host host(own);
  const Chain trunk = chain(1, 60);
  const Chain branch = chain(2, 30, Chain(trunk.begin(), trunk.begin() + 25));
  for (const Chain& keys : {trunk, branch}) {
    own.on_computed(keys, 10_s);
    host.finish_all(10_s);
  }
  ASSERT_EQ(own.resident_blocks(trunk, 1), 0U);
  close(own, host, 11_s);
  EXPECT_EQ(own.resident_blocks(trunk, 1), 60U);
  EXPECT_EQ(own.resident_blocks(branch, 1), 55U);
  EXPECT_EQ(own.on_close(kAll, 11_s), std::nullopt) << "nothing is left";
  EXPECT_EQ(own.counters(1).written, block_bytes() * 90) << "and no block is written twice";
}

TEST(DeciderClose, NoBackIsOrderedBeforeItsFront) {
  Decider own = decider(two_tiers());
  Host host(own);
  const Chain keys = chain(1, 60);
  own.on_computed(keys, 10_s);
  host.finish_all(10_s);
  std::uint32_t next = 0;
  for (const Order& order : close(own, host, 11_s, block_bytes() * 7)) {
    EXPECT_EQ(order.first, next);
    next = order.first + static_cast<std::uint32_t>(order.keys.size());
  }
  EXPECT_EQ(next, 60U);
}

// Which of many chains are saved where the limit lets only some through.
TEST(DeciderClose, WithinTheWriteLimitTheMostValuableChainsAreSaved) {
  PolicyConfig config = two_tiers();
  config.tiers[1].write_limit_per_day = block_bytes() * 1000;  // of which a tenth at once
  Decider own = decider(config);
  Host host(own);
  std::vector<Chain> chains;
  for (std::uint32_t i = 0; i < 8; ++i) {
    chains.push_back(chain(i + 1, 40));
    own.on_computed(chains.back(), Seconds(10.0 + i));
    host.finish_all(Seconds(10.0 + i));
  }
  for (const std::uint32_t asked : {2U, 5U}) {  // asked for again: worth more than the others
    (void)own.on_schedule(request(asked, chains[asked]), 20_s);
    host.finish_all(20_s);
  }
  ASSERT_EQ(own.counters(1).written, Bytes(0)) << "memory had room for all";
  close(own, host, 21_s);
  EXPECT_EQ(own.resident_blocks(chains[2], 1), 40U);
  EXPECT_EQ(own.resident_blocks(chains[5], 1), 40U);
  std::size_t saved = 0;
  for (const Chain& keys : chains) saved += own.resident_blocks(keys, 1);
  EXPECT_EQ(saved, 100U) << "all that the limit allows";
  EXPECT_EQ(own.on_close(kAll, 21_s), Bytes(0)) << "more is allowed later";
  const Seconds later = 21_s + 600_s;
  EXPECT_GT(own.on_close(kAll, later).value_or(Bytes(0)), Bytes(0));
}

TEST(DeciderClose, WhatIsNotWorthItsLoadIsNotWritten) {
  MachineProfile slow = machine();
  slow.tiers[1].setup = Measured<Seconds>::exact(100_ms, Verdict::good);
  Decider own = decider(two_tiers(), slow);
  Host host(own);
  own.on_computed(chain(1, 4), 1_s);  // 2,048 tokens: 55 ms to compute
  host.finish_all(1_s);
  ASSERT_EQ(own.counters(0).used, block_bytes() * 4);
  EXPECT_TRUE(close(own, host, 2_s).empty());
  EXPECT_EQ(own.on_close(kAll, 2_s), std::nullopt);
}

TEST(DeciderClose, WhatTheDriveHoldsIsNotDrivenOutByWhatIsWorthLess) {
  Decider own = decider(two_tiers(100, 60));
  const auto finish = [&](Seconds now) {
    for (auto orders = own.take_orders(); !orders.empty(); orders = own.take_orders()) {
      for (const Order& order : orders) own.on_outcome({.order = order.id}, now);
    }
  };
  const Chain old = chain(1, 60);
  const FoundRun run{.parent = {}, .first = 0, .keys = old, .age = 1_s};
  ASSERT_TRUE(own.restore(1, {&run, 1}, 1000_s).empty());
  for (RequestId id = 1; id <= 4; ++id) {
    (void)own.on_schedule(request(id, old), 1001_s);
    finish(1001_s);
  }
  const Chain fresh = chain(2, 60);
  own.on_computed(fresh, 1001_s);
  finish(1001_s);
  while (own.on_close(kAll, 1002_s)) finish(1002_s);
  EXPECT_EQ(own.resident_blocks(old, 1), 60U);
  EXPECT_EQ(own.resident_blocks(fresh, 0), 60U);
}

TEST(DeciderClose, ADriveThatCannotBeWrittenGetsNothing) {
  Decider own = decider(two_tiers());
  Host host(own);
  own.on_computed(chain(1, 60), 10_s);
  host.finish_all(10_s);
  own.on_health(1, true, false, 11_s);
  EXPECT_EQ(own.on_close(kAll, 12_s), std::nullopt);
}

}  // namespace
}  // namespace fulcrum::testing
