// What leaves a tier, in which order, and what must never happen.
#include "policy/residency.h"

#include <gtest/gtest.h>

#include "decider_fixture.h"
#include "policy/baselines.h"

namespace fulcrum::testing {
namespace {

struct House {
  PolicyConfig config = policy(Strategy::load_always, {{"dram", 10}, {"nvme", 10}});
  Costs costs{config, machine()};
  LoadAlways valuation{Tokens(0)};
  PrefixIndex index;
  Orders orders{index, costs.block_bytes()};
  Residency residency{config, costs, valuation, index, orders, 4};

  /// Puts a chain into tiers, used at `now`.
  NodeId put(const Chain& blocks, TierMask tiers, Seconds now) {
    std::vector<NodeId> path;
    const std::uint32_t known = index.trace(blocks, path);
    if (known < blocks.size()) {
      path.push_back(index.append(path.empty() ? kRoot : path.back(), std::span(blocks).subspan(known)));
    }
    residency.touch(path, now, false, static_cast<std::uint32_t>(blocks.size()));
    residency.change(path.back(), tiers, 0);
    return path.back();
  }
  [[nodiscard]] std::size_t erased(TierId tier) {
    std::size_t blocks = 0;
    for (const Order& order : orders.take()) blocks += order.source == tier ? order.keys.size() : 0;
    return blocks;
  }
};

constexpr double kAnything = 1e18;

TEST(Residency, TheBackOfAChainLeavesBeforeItsFront) {
  House house;
  const Chain front = chain(1, 4);
  house.put(front, bit(0), 1_s);
  house.put(chain(2, 4, front), bit(0), 2_s);
  EXPECT_EQ(house.residency.make_room(0, 8, kAnything), 8U);
  const std::vector<Order> orders = house.orders.take();
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0].keys.size(), 4U);
  EXPECT_NE(orders[0].keys.front(), front.front()) << "the back goes first";
  EXPECT_EQ(orders[1].keys, Chain({front[2], front[3]})) << "and no more than is needed";
}

TEST(Residency, OnlyWhatIsWorthLessMakesRoom) {
  House house;
  house.put(chain(1, 10), bit(0), 1_s);
  EXPECT_EQ(house.residency.make_room(0, 3, 0.5), 0U);
  EXPECT_EQ(house.residency.make_room(0, 3, kAnything), 3U);
}

TEST(Residency, BlocksThatAreReadDoNotLeaveTheTierTheyAreReadFrom) {
  House house;
  const NodeId node = house.put(chain(1, 10), bit(0) | bit(1), 1_s);
  house.residency.hold(node, 0);
  EXPECT_EQ(house.residency.make_room(0, 3, kAnything), 0U);
  EXPECT_EQ(house.residency.make_room(1, 10, kAnything), 10U) << "but others";
  house.residency.release(node, 0);
  EXPECT_EQ(house.residency.make_room(0, 3, kAnything), 3U);
}

TEST(Residency, WhatIsOfNoUseWithoutItsFrontGoesWithIt) {
  House house;
  const Chain front = chain(1, 4);
  const NodeId node = house.put(front, bit(0), 1_s);
  house.put(chain(2, 4, front), bit(1), 2_s);
  house.residency.drop(node, 0);
  EXPECT_EQ(house.erased(1), 4U);
  EXPECT_EQ(house.residency.tier(1).used, Bytes(0));
}

TEST(Residency, ForgetsTheLongestUnusedOfWhatNoTierHolds) {
  House house;
  house.put(chain(1, 3), 0, 1_s);
  house.put(chain(2, 3), 0, 2_s);
  house.residency.trim();
  EXPECT_EQ(house.index.blocks(), 4U);
  std::size_t known = 0;
  house.index.walk(chain(2, 3), [&](NodeId, std::uint32_t matched) {
    known += matched;
    return true;
  });
  EXPECT_EQ(known, 3U) << "the newer chain is whole";
}

TEST(Residency, DiesRatherThanHoldMoreThanItsCapacity) {
  House house;
  house.put(chain(1, 10), bit(0), 1_s);
  EXPECT_DEATH(house.put(chain(2, 1), bit(0), 2_s), "no more than its capacity");
}

}  // namespace
}  // namespace fulcrum::testing
