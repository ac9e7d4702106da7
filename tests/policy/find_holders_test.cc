// The nodes that hold a block are found from the block, whatever has become of the tree, and without looking
// at all of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "decider_fixture.h"
#include "policy/prefix_index.h"

namespace fulcrum::testing {
namespace {

std::vector<NodeId> found(PrefixIndex& index, const BlockKey& key) {
  std::vector<NodeId> holders;
  index.find_holders(key, holders);
  std::ranges::sort(holders);
  return holders;
}

/// The same by looking at every key.
std::vector<NodeId> looked_up(PrefixIndex& index, const BlockKey& key) {
  std::vector<NodeId> holders;
  index.each([&](NodeId id) {
    if (std::ranges::find(index[id].keys, key) != index[id].keys.end()) holders.push_back(id);
  });
  return holders;
}

class Tree {
 public:
  explicit Tree(std::uint64_t seed) : random_(seed) {}

  void step() {
    Chain keys;
    for (std::uint32_t family = static_cast<std::uint32_t>(random_.below(4)); keys.size() < 40;
         family = static_cast<std::uint32_t>(random_.below(3))) {
      keys = chain(family, 1 + random_.below(20), keys);
    }
    const std::uint32_t known = index_.trace(keys, path_);
    switch (random_.below(4)) {
      case 0:
        forget();
        break;
      case 1:
        for (auto id = path_.rbegin(); id != path_.rend(); ++id) index_.join(*id);
        break;
      default:
        if (known < keys.size()) {
          index_.append(path_.empty() ? kRoot : path_.back(), std::span(keys).subspan(known));
        }
    }
    for (const BlockKey& key : keys) ASSERT_EQ(found(index_, key), looked_up(index_, key));
  }

 private:
  void forget() {
    if (path_.empty() || index_[path_.back()].first_child != kNoNode) return;
    const NodeId leaf = path_.back();
    index_.forget(leaf, static_cast<std::uint32_t>(1 + random_.below(index_[leaf].count())));
  }

  Random random_;
  PrefixIndex index_;
  std::vector<NodeId> path_;
};

TEST(FindHolders, AgreesWithLookingAtEveryKeyHoweverTheTreeIsCutJoinedAndForgotten) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Tree tree(seed);
    for (int i = 0; i < 100 && !HasFatalFailure(); ++i) tree.step();
  }
}

TEST(FindHolders, ABlockThatIsForgottenHasNone) {
  PrefixIndex index;
  const Chain keys = chain(1, 10);
  const NodeId node = index.append(kRoot, keys);
  index.forget(node, 4);
  EXPECT_TRUE(found(index, keys[6]).empty());
  EXPECT_EQ(found(index, keys[5]), std::vector<NodeId>{node});
  index.forget(node, 6);
  EXPECT_TRUE(found(index, keys[0]).empty());
}

TEST(FindHolders, AKeyInTwoChainsHasBoth) {
  PrefixIndex index;
  const Chain one = chain(1, 10);
  Chain other = chain(2, 4);
  other.push_back(one[7]);
  const std::vector<NodeId> nodes = {index.append(kRoot, one), index.append(kRoot, other)};
  EXPECT_EQ(found(index, one[7]), nodes);
}

// Of five thousand chains, one is compared with: as many times as it has blocks, at most.
TEST(FindHolders, CostsOneChainAndNotTheIndex) {
  constexpr std::uint32_t kChains = 5000;
  constexpr std::size_t kBlocks = 20;
  PrefixIndex index;
  for (std::uint32_t i = 0; i < kChains; ++i) index.append(kRoot, chain(i, kBlocks));
  for (const std::uint32_t i : {0U, 17U, kChains - 1}) {
    const Chain keys = chain(i, kBlocks);
    const std::uint64_t before = index.compared();
    EXPECT_EQ(found(index, keys.back()).size(), 1U);
    EXPECT_LE(index.compared() - before, kBlocks);
  }
}

}  // namespace
}  // namespace fulcrum::testing
