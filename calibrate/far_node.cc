#include "calibrate/far_node.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "base/errors.h"
#include "calibrate/memory_copy.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kTarget = 0.10;

struct Regions {
  AlignedBuffer near;
  AlignedBuffer far;
  AlignedBuffer target;
};

Result<Regions> regions_on(const NodePair& nodes, const MemoryPlan& plan) {
  auto near = memory_on(nodes.near, plan.region, plan.seed);
  if (near.has_error()) return near.error();
  auto far = memory_on(nodes.far, plan.region, plan.seed + 1);
  if (far.has_error()) return far.error();
  auto target = memory_on(nodes.near, plan.region, plan.seed + 2);
  if (target.has_error()) return target.error();
  return Regions{std::move(*near), std::move(*far), std::move(*target)};
}

Result<void> take_rounds(const Clock& clock, const MemoryPlan& plan, Regions& regions,
                         const std::atomic<bool>& stop, Samples& samples) {
  Random random = Random(plan.seed).split("nodes");
  const Seconds start = clock.now();
  std::array<CellKind, 2> order = {CellKind::near_copy, CellKind::far_copy};
  for (int round = 0; round < plan.settle_least; ++round) {
    if (random.below(2) == 1) std::swap(order[0], order[1]);
    for (const CellKind kind : order) {
      if (stop.load(std::memory_order_relaxed))
        return make_error(ErrorKind::interrupted, "calibrate", "", "stopped on request");
      const AlignedBuffer& from = kind == CellKind::far_copy ? regions.far : regions.near;
      const BytesPerSecond rate = copy_blocks(clock, from.span(), regions.target.span(), plan.block,
                                              plan.window, Random(random.next()));
      samples.add({{kind, plan.block, 1, 1}, clock.now() - start, rate.value(), {}});
    }
  }
  return {};
}

}  // namespace

Result<void> take_far_node(const Clock& clock, const MemoryPlan& plan, const NodePair& nodes,
                           const std::atomic<bool>& stop, Samples& samples) {
  auto regions = regions_on(nodes, plan);
  if (regions.has_error()) return regions.error();
  Result<void> outcome;
  std::jthread([&] {
    const auto pin = NodePin::create(nodes.near);
    outcome = pin.has_error() ? Result<void>(pin.error()) : take_rounds(clock, plan, *regions, stop, samples);
  }).join();
  return outcome;
}

void fit_far_node(const Samples& samples, std::uint64_t seed, TierProfile& tier) {
  const Groups groups = {samples.values(CellKind::near_copy), samples.values(CellKind::far_copy)};
  if (groups[0].empty() || groups[1].empty()) return;
  const auto ratio = [](const Groups& g) { return std::vector{median(g[0]) / median(g[1])}; };
  const double value = ratio(groups)[0];
  const Interval<double> interval = bootstrap(groups, ratio, seed)[0];
  const bool narrow = relative_half_width(value, interval) <= kTarget;
  tier.far_node_penalty = {value, std::min(value, interval.low), std::max(value, interval.high),
                           static_cast<int>(groups[1].size()), narrow ? Verdict::good : Verdict::noisy};
}

}  // namespace fulcrum::calibrate
