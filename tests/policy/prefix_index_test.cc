// The tree of runs answers as a plain set of keys does, however it is cut and joined.
#include "policy/prefix_index.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

std::size_t known(const PrefixIndex& index, const Chain& blocks) {
  std::size_t count = 0;
  index.walk(blocks, [&](NodeId, std::uint32_t matched) {
    count += matched;
    return true;
  });
  return count;
}

std::size_t nodes_on(const PrefixIndex& index, const Chain& blocks) {
  std::size_t count = 0;
  index.walk(blocks, [&](NodeId, std::uint32_t) {
    ++count;
    return true;
  });
  return count;
}

void insert(PrefixIndex& index, const Chain& blocks) {
  std::vector<NodeId> path;
  const std::uint32_t have = index.trace(blocks, path);
  if (have < blocks.size()) {
    index.append(path.empty() ? kRoot : path.back(), std::span(blocks).subspan(have));
  }
}

TEST(PrefixIndex, BlocksThatAreKnownBehindOthersAreNotPartOfAChain) {
  PrefixIndex index;
  const Chain whole = chain(1, 10);
  insert(index, Chain(whole.begin(), whole.begin() + 5));
  insert(index, whole);  // a node of its own from block 5 on
  const Chain back(whole.begin() + 5, whole.end());
  EXPECT_EQ(known(index, back), 0U);
  Chain other = chain(2, 5);
  insert(index, other);
  other.insert(other.end(), back.begin(), back.end());
  EXPECT_EQ(known(index, other), 5U);
  EXPECT_EQ(known(index, whole), 10U);
}

TEST(PrefixIndex, FindsTheLongestKnownPrefixOfAnyChain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    PrefixIndex index;
    std::set<BlockKey> plain;
    for (int i = 0; i < 200; ++i) {
      Chain blocks;
      for (std::uint32_t family = static_cast<std::uint32_t>(random.below(4)); blocks.size() < 50;
           family = static_cast<std::uint32_t>(random.below(3))) {
        blocks = chain(family, 1 + random.below(30), blocks);
      }
      std::size_t expected = 0;
      while (expected < blocks.size() && plain.contains(blocks[expected])) ++expected;
      ASSERT_EQ(known(index, blocks), expected);
      if (random.below(2) == 0) continue;
      blocks.resize(1 + random.below(blocks.size()));
      insert(index, blocks);
      plain.insert(blocks.begin(), blocks.end());
      ASSERT_EQ(index.blocks(), plain.size());
    }
  }
}

TEST(PrefixIndex, HoldsAChainWithoutBranchesAsOneNode) {
  PrefixIndex index;
  insert(index, chain(1, 5000));
  EXPECT_EQ(index.nodes(), 1U);
  insert(index, chain(2, 10, chain(1, 2000)));
  EXPECT_EQ(index.nodes(), 3U) << "a branch makes one node three";
  EXPECT_EQ(nodes_on(index, chain(1, 5000)), 2U);
}

TEST(PrefixIndex, JoinsWhatNothingTellsApartAndKeepsTheKeys) {
  PrefixIndex index;
  const Chain blocks = chain(1, 100);
  insert(index, blocks);
  std::vector<NodeId> path;
  index.trace(blocks, path);
  const NodeId back = path.front();
  index.split(back, 30);
  index.split(back, 30);
  ASSERT_EQ(index.nodes(), 3U);
  EXPECT_EQ(known(index, blocks), 100U);
  EXPECT_EQ(index.keys_ending(back, 70), Chain(blocks.begin() + 30, blocks.end()));
  index[back].tick = 9;
  EXPECT_FALSE(index.join(back)) << "another last use tells them apart";
  index[back].tick = 0;
  EXPECT_TRUE(index.join(back));
  EXPECT_TRUE(index.join(back));
  EXPECT_FALSE(index.join(back)) << "nothing is left to join";
  EXPECT_EQ(index.nodes(), 1U);
  EXPECT_EQ(index.keys_ending(back, 100), blocks);
}

TEST(PrefixIndex, ForgetsFromTheBack) {
  PrefixIndex index;
  const Chain blocks = chain(1, 10);
  insert(index, blocks);
  std::vector<NodeId> path;
  index.trace(blocks, path);
  index.forget(path.front(), 4);
  EXPECT_EQ(known(index, blocks), 6U);
  index.forget(path.front(), 6);
  EXPECT_EQ(known(index, blocks), 0U);
  EXPECT_EQ(index.blocks(), 0U);
  EXPECT_EQ(index.nodes(), 0U);
}

}  // namespace
}  // namespace fulcrum::testing
