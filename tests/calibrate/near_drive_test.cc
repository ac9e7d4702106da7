// Staying near the drive, far memory, and links below what they could be. Machines of several nodes are made
// up; the thread, the memory and the copies are real.
#include <gtest/gtest.h>

#include "calibrate/far_node.h"
#include "calibrate/placement.h"
#include "calibrate/preflight.h"

namespace fulcrum::calibrate {
namespace {

std::vector<int> every_processor() {
  std::vector<int> all(1024);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return all;
}

/// A node of this machine under a number of its own choice.
NumaNode node(int id, std::vector<int> distances, std::vector<int> processors = every_processor()) {
  return {id, std::move(processors), 1_GiB, std::move(distances)};
}

TEST(Placement, OneNodeNeedsNone) {
  const Placement alone = stay_near({node(0, {10})}, 0);
  EXPECT_FALSE(alone.pin.has_value());
  EXPECT_TRUE(alone.finding.empty());
}

TEST(Placement, StaysOnTheDrivesNodeAndSaysSo) {
  const Placement near = stay_near({node(0, {10, 21}), node(1, {21, 10})}, 1);
  EXPECT_TRUE(near.pin.has_value());
  EXPECT_NE(near.finding.find("NUMA node 1"), std::string::npos) << near.finding;
}

TEST(Placement, SaysWhyItCannot) {
  const std::vector<NumaNode> nodes = {node(0, {10, 21}), node(1, {21, 10}, {4000})};
  for (const std::optional<int> drive : {std::optional<int>(), std::optional(1), std::optional(5)}) {
    const Placement loose = stay_near(nodes, drive);
    EXPECT_FALSE(loose.pin.has_value());
    EXPECT_NE(loose.finding.find("not kept near"), std::string::npos) << loose.finding;
  }
}

TEST(FarthestNodes, AreThoseWithTheGreatestDistanceThatCanBeUsed) {
  const auto pair = farthest_nodes({node(0, {10, 12, 32, 40}), node(1, {12, 10, 32, 40}),
                                    node(2, {32, 32, 10, 40}), node(3, {40, 40, 40, 10}, {4000})});
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->near.id, 0);
  EXPECT_EQ(pair->far.id, 2) << "node 3 is farther, but closed to this process";
  EXPECT_FALSE(farthest_nodes({node(0, {10})}).has_value());
  EXPECT_FALSE(farthest_nodes({}).has_value());
}

MemoryPlan small_memory() {
  MemoryPlan plan;
  plan.region = 8_MiB;
  plan.block = 1_MiB;
  plan.window = 2_ms;
  plan.settle_least = 12;
  return plan;
}

TEST(FarNode, CopiesFromBothNodesEquallyOften) {
  const NumaNode here = node(numa_nodes().empty() ? 0 : numa_nodes().front().id, {10});
  SteadyClock clock;
  Samples samples;
  const std::atomic<bool> stop{false};
  const auto taken = take_far_node(clock, small_memory(), {here, here}, stop, samples);
  ASSERT_TRUE(taken.has_value()) << taken.error().message();
  TierProfile tier;
  fit_far_node(samples, 1, tier);
  ASSERT_TRUE(tier.far_node_penalty.has_value());
  EXPECT_EQ(tier.far_node_penalty->samples, 12);
  EXPECT_EQ(samples.values(CellKind::near_copy).size(), 12U);
  // It is one node, but a busy machine may slow either copy down: how close to 1 is not tested here.
  EXPECT_GT(tier.far_node_penalty->value, 0);
  EXPECT_TRUE(tier.far_node_penalty->interval().contains(tier.far_node_penalty->value));
}

TEST(FarNode, MemoryThatIsNotWhereItShouldBeIsNotMeasured) {
  const auto probe = memory_on(node(0, {10}), 1_MiB, 1);
  if (!probe.has_value() || !node_of(probe->data()))
    GTEST_SKIP() << "this kernel does not say where pages lie";
  SteadyClock clock;
  Samples samples;
  const std::atomic<bool> stop{false};
  const auto taken =
      take_far_node(clock, small_memory(), {node(0, {10, 21}), node(77, {21, 10})}, stop, samples);
  ASSERT_TRUE(taken.has_error());
  EXPECT_EQ(taken.error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(samples.all().empty());
}

TEST(FarNode, ThePenaltyIsHowMuchLongerTheFarCopyTakes) {
  Samples samples;
  for (int i = 0; i < 12; ++i) {
    samples.add({{CellKind::near_copy, 1_MiB, 1, 1}, 0_s, 10e9 + 1e7 * i, {}});
    samples.add({{CellKind::far_copy, 1_MiB, 1, 1}, 0_s, 6e9 + 1e7 * i, {}});
  }
  TierProfile tier;
  fit_far_node(samples, 1, tier);
  ASSERT_TRUE(tier.far_node_penalty.has_value());
  EXPECT_NEAR(tier.far_node_penalty->value, 10.055 / 6.055, 1e-6);
  EXPECT_TRUE(tier.far_node_penalty->interval().contains(tier.far_node_penalty->value));
  EXPECT_EQ(tier.far_node_penalty->verdict, Verdict::good);
  TierProfile without;
  fit_far_node(Samples(), 1, without);
  EXPECT_FALSE(without.far_node_penalty.has_value());
}

TEST(MemoryProbe, SaysThatOneNodeHasNoFarMemoryAndMeasuresSeveral) {
  SteadyClock clock;
  MemoryPlan plan = small_memory();
  plan.threads = {1, 2};
  plan.settle_most = 12;
  plan.nodes = {node(0, {10})};
  const std::atomic<bool> stop{false};
  const ProgressHook quiet = [](double, std::string_view) {};
  const auto alone = probe_memory(clock, plan, quiet, stop);
  ASSERT_TRUE(alone.has_value());
  EXPECT_EQ(alone->tier.findings.back(), "one NUMA node: no memory is far");
  EXPECT_FALSE(alone->tier.far_node_penalty.has_value());
  plan.nodes = {node(0, {10, 21}), node(1, {21, 10})};  // two names of one node
  const auto two = probe_memory(clock, plan, quiet, stop);
  ASSERT_TRUE(two.has_value());
  const bool measured = two->tier.far_node_penalty.has_value();
  const bool refused = two->tier.findings.back().find("was not measured") != std::string::npos;
  EXPECT_NE(measured, refused) << "a number or a reason, never both or neither";
}

TEST(LinkFinding, ALinkBelowWhatItCouldBeIsAWarning) {
  EXPECT_EQ(link_finding({}), "");
  EXPECT_EQ(link_finding({.lanes = 4, .transfers = 16, .lanes_most = 4, .transfers_most = 16}), "");
  EXPECT_EQ(link_finding({.lanes = 4, .transfers = 16, .lanes_most = 0, .transfers_most = 0}), "");
  const std::string slow = link_finding({.lanes = 4, .transfers = 8, .lanes_most = 4, .transfers_most = 16});
  EXPECT_NE(slow.find("4 x 8 GT/s"), std::string::npos) << slow;
  EXPECT_NE(slow.find("4 x 16 GT/s"), std::string::npos) << slow;
  EXPECT_NE(link_finding({.lanes = 1, .transfers = 8, .lanes_most = 4, .transfers_most = 8}), "");
}

}  // namespace
}  // namespace fulcrum::calibrate
