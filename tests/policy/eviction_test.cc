#include "policy/eviction.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

TEST(EvictionOrder, AlwaysNamesTheLeastWorth) {
  PrefixIndex index;
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < 40; ++i) nodes.push_back(index.append(kRoot, chain(i, 1)));
  EvictionOrder order(index, 2);
  std::map<NodeId, double> plain;
  Random random(5);
  for (int step = 0; step < 20000; ++step) {
    const NodeId node = nodes[random.below(nodes.size())];
    if (random.below(3) == 0) {
      order.remove(node);
      plain.erase(node);
    } else {
      const double worth = static_cast<double>(random.below(10));
      order.set(node, worth);
      plain[node] = worth;
    }
    ASSERT_EQ(order.empty(), plain.empty());
    if (plain.empty()) continue;
    const auto least = std::min_element(plain.begin(), plain.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : a.first < b.first;
    });
    ASSERT_EQ(order.least(), least->first);
    ASSERT_EQ(order.least_worth(), least->second);
  }
}

}  // namespace
}  // namespace fulcrum::testing
