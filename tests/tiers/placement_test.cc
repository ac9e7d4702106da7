#include "tiers/placement.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace fulcrum::test {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::size_t kKeys = 20000;

std::vector<BlockKey> random_keys(std::size_t count) {
  Random random(kSeed);
  std::vector<BlockKey> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back({random.next(), random.next()});
  return keys;
}

std::vector<PlacementMember> members(std::size_t count) {
  std::vector<PlacementMember> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({placement_id("/mnt/drive" + std::to_string(i)), 1});
  return out;
}

TEST(Placement, GivesKeysInProportionToTheWeights) {
  std::vector<PlacementMember> some = members(4);
  some[1].weight = 3;
  some[3].weight = 0;
  std::vector<std::size_t> count(4);
  for (const BlockKey& key : random_keys(kKeys)) ++count[*place(key, some)];
  EXPECT_NEAR(static_cast<double>(count[0]) / kKeys, 0.2, 0.012);
  EXPECT_NEAR(static_cast<double>(count[1]) / kKeys, 0.6, 0.012);
  EXPECT_NEAR(static_cast<double>(count[2]) / kKeys, 0.2, 0.012);
  EXPECT_EQ(count[3], 0U);
}

TEST(Placement, MovesToANewMemberItsShareAndNothingElse) {
  for (const std::size_t n : {1U, 2U, 3U, 7U}) {
    const std::vector<PlacementMember> before = members(n);
    const std::vector<PlacementMember> after = members(n + 1);
    std::size_t moved = 0;
    for (const BlockKey& key : random_keys(kKeys)) {
      const std::size_t home = *place(key, after);
      if (home == *place(key, before)) continue;
      EXPECT_EQ(home, n) << "a key moved between members that stay";
      ++moved;
    }
    const double share = 1.0 / static_cast<double>(n + 1);
    EXPECT_NEAR(static_cast<double>(moved) / kKeys, share, 0.015) << n << " members";
  }
}

TEST(Placement, LeavesTheShareOfAMemberThatGoesToAllOthers) {
  const std::vector<PlacementMember> all = members(4);
  std::vector<PlacementMember> rest = all;
  rest[2].weight = 0;
  std::vector<std::size_t> heirs(4);
  for (const BlockKey& key : random_keys(kKeys)) {
    const std::size_t before = *place(key, all);
    const std::size_t after = *place(key, rest);
    if (before == 2) {
      ++heirs[after];
    } else {
      ASSERT_EQ(before, after);
    }
  }
  for (const std::size_t heir : {0U, 1U, 3U})
    EXPECT_NEAR(static_cast<double>(heirs[heir]) / kKeys, 0.25 / 3, 0.01);
}

TEST(Placement, DoesNotDependOnTheOrderOfMembersOrTheScaleOfWeights) {
  const std::vector<PlacementMember> some = members(3);
  std::vector<PlacementMember> turned{some[2], some[0], some[1]};
  for (PlacementMember& member : turned) member.weight = 7e9;
  for (const BlockKey& key : random_keys(500)) EXPECT_EQ((*place(key, some) + 1) % 3, *place(key, turned));
}

// Stores outlive the program that wrote them: a build that places otherwise would find the same blocks, but
// put each new one beside the place of its stripe.
TEST(Placement, StaysTheSameFromBuildToBuild) {
  std::string homes;
  for (const BlockKey& key : random_keys(24)) homes += std::to_string(*place(key, members(5)));
  EXPECT_EQ(homes, "233020321201240041441104");
}

TEST(Placement, FindsNoHomeWhereNobodyTakesAnything) {
  EXPECT_FALSE(place({1, 2}, {}).has_value());
  std::vector<PlacementMember> none = members(2);
  none[0].weight = none[1].weight = 0;
  EXPECT_FALSE(place({1, 2}, none).has_value());
  EXPECT_EQ(place_stripes(0, random_keys(2), 4, std::nullopt, none),
            std::vector<std::optional<std::size_t>>(2));
}

TEST(PlacementOfStripes, GivesAllBlocksOfAStripeTheHomeOfItsFirstKey) {
  const std::vector<BlockKey> keys = random_keys(40);
  const std::vector<PlacementMember> some = members(5);
  const auto homes = place_stripes(0, keys, 8, std::nullopt, some);
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(homes[i], place(keys[i / 8 * 8], some));
}

TEST(PlacementOfStripes, GoesOnWithAStripeThatBeganBefore) {
  const std::vector<BlockKey> keys = random_keys(12);
  const std::vector<PlacementMember> some = members(5);
  const std::size_t other = (*place(keys[0], some) + 1) % 5;
  const auto homes = place_stripes(6, keys, 8, other, some);
  EXPECT_EQ(homes[0], other);
  EXPECT_EQ(homes[1], other);
  EXPECT_EQ(homes[2], place(keys[2], some));
  EXPECT_EQ(place_stripes(6, keys, 8, std::nullopt, some)[1], place(keys[0], some));
  EXPECT_EQ(place_stripes(8, keys, 8, other, some)[0], place(keys[0], some))
      << "a stripe of its own begins here";
}

}  // namespace
}  // namespace fulcrum::test
