// NUMA nodes from a tree made here; staying on one, for real.
#include "tiers/numa.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "fake_sys.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum::test {
namespace {

std::vector<int> own_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> list;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) list.push_back(i);
  }
  return list;
}

TEST(NumberList, ReadsRangesAndRefusesTheRest) {
  EXPECT_EQ(number_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(number_list("5"), std::vector<int>{5});
  for (const char* bad : {"", "-", "3-1", "a", "1-", "-1", "1,b", "99999999999", "1 2"})
    EXPECT_EQ(number_list(bad), std::vector<int>()) << bad;
}

TEST_F(FakeSys, NodesHaveProcessorsMemoryAndDistances) {
  const std::string root = "devices/system/node";
  put(root + "/online", "0,2\n");
  put(root + "/node0/cpulist", "0-1,4-5\n");
  put(root + "/node0/meminfo", "Node 0 MemTotal:       1024 kB\nNode 0 MemFree:  12 kB\n");
  put(root + "/node0/distance", "10 21\n");
  put(root + "/node2/cpulist", "\n");
  put(root + "/node2/meminfo", "Node 2 MemTotal:       2048 kB\n");
  const auto nodes = numa_nodes(root_.path());
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].processors, (std::vector<int>{0, 1, 4, 5}));
  EXPECT_EQ(nodes[0].memory, 1_MiB);
  EXPECT_EQ(nodes[0].distances, (std::vector<int>{10, 21}));
  EXPECT_EQ(nodes[1].id, 2);
  EXPECT_TRUE(nodes[1].processors.empty()) << "memory without processors";
  EXPECT_EQ(nodes[1].memory, 2_MiB);
  EXPECT_TRUE(numa_nodes(root_.path() + "/elsewhere").empty());
}

TEST(NodePin, KeepsTheThreadAndItsChildrenThereAndPutsThemBack) {
  const std::vector<int> before = own_processors();
  {
    const auto pin = NodePin::create({.id = 0, .processors = {before.back()}, .memory = {}, .distances = {}});
    ASSERT_TRUE(pin.has_value()) << pin.error().message();
    EXPECT_EQ(own_processors(), std::vector<int>{before.back()});
    std::vector<int> of_child;
    std::jthread([&] { of_child = own_processors(); }).join();
    EXPECT_EQ(of_child, std::vector<int>{before.back()});
  }
  EXPECT_EQ(own_processors(), before);
}

TEST(NodePin, RefusesANodeThatTheProcessMayNotUse) {
  const std::vector<int> before = own_processors();
  const auto pin = NodePin::create({.id = 7, .processors = {4000}, .memory = {}, .distances = {}});
  ASSERT_TRUE(pin.has_error());
  EXPECT_EQ(pin.error().kind, ErrorKind::not_found);
  EXPECT_NE(pin.error().message().find("NUMA node 7"), std::string::npos) << pin.error().message();
  EXPECT_EQ(own_processors(), before);
}

TEST(NodePin, APinThatWasMovedPutsThingsBackOnce) {
  const std::vector<int> before = own_processors();
  {
    auto pin = NodePin::create({.id = 0, .processors = {before.front()}, .memory = {}, .distances = {}});
    ASSERT_TRUE(pin.has_value());
    const NodePin moved(std::move(*pin));
    EXPECT_EQ(own_processors(), std::vector<int>{before.front()});
  }
  EXPECT_EQ(own_processors(), before);
}

TEST(NodeOf, TouchedMemoryLiesOnAnOnlineNode) {
  auto buffer = AlignedBuffer::allocate(1 << 20);
  ASSERT_TRUE(buffer.has_value());
  buffer->span()[5000] = std::byte{1};
  const auto node = node_of(buffer->data() + 5000);
  if (!node) GTEST_SKIP() << "this kernel does not say where pages lie";
  const auto nodes = numa_nodes();
  EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [&](const NumaNode& n) { return n.id == *node; }));
}

}  // namespace
}  // namespace fulcrum::test
