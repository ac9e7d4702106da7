#include "replay/gpu_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <vector>

#include "base/random.h"

namespace fulcrum::replay {
namespace {

std::vector<BlockKey> chain_of(std::uint64_t branch, std::uint32_t blocks, std::uint32_t shared = 0) {
  std::vector<BlockKey> keys;
  for (std::uint32_t i = 0; i < blocks; ++i) keys.push_back(BlockKey{i < shared ? 0 : branch, i + 1});
  return keys;
}

TEST(GpuCache, KeepsALeadingRunWhenAChainIsTooLong) {
  GpuCache cache(4);
  const auto chain = chain_of(1, 6);
  cache.insert(chain);
  EXPECT_EQ(cache.leading(chain), 4U);
  EXPECT_EQ(cache.size(), 4U);
}

TEST(GpuCache, EvictsTheEndOfTheColdestChainFirst) {
  GpuCache cache(6);
  const auto cold = chain_of(1, 4);
  const auto warm = chain_of(2, 4);
  cache.insert(cold);
  cache.insert(warm);
  EXPECT_EQ(cache.leading(warm), 4U);
  EXPECT_EQ(cache.leading(cold), 2U);
}

TEST(GpuCache, HoldsNothingWithoutCapacity) {
  GpuCache cache(0);
  cache.insert(chain_of(1, 3));
  EXPECT_EQ(cache.size(), 0U);
}

TEST(GpuCache, IsTheSameAsAPlainListInEveryStep) {
  constexpr std::size_t kBlocks = 40;
  Random random(5);
  GpuCache cache(kBlocks);
  std::list<BlockKey> plain;  // newest first
  for (int step = 0; step < 2000; ++step) {
    const auto chain = chain_of(1 + random.below(12), 1 + static_cast<std::uint32_t>(random.below(20)), 3);
    std::size_t leading = 0;
    while (leading < chain.size() && std::find(plain.begin(), plain.end(), chain[leading]) != plain.end()) {
      ++leading;
    }
    ASSERT_EQ(cache.leading(chain), leading) << "seed 5, step " << step;
    cache.insert(chain);
    for (auto key = chain.rbegin(); key != chain.rend(); ++key) {
      plain.remove(*key);
      plain.push_front(*key);
    }
    while (plain.size() > kBlocks) plain.pop_back();
    ASSERT_EQ(cache.size(), plain.size());
  }
}

}  // namespace
}  // namespace fulcrum::replay
