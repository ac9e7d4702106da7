// What memory of another NUMA node costs: the same copy, from own memory and from the farthest.
#pragma once

#include <atomic>
#include <cstdint>

#include "calibrate/memory_probe.h"
#include "calibrate/placement.h"
#include "calibrate/samples.h"
#include "fulcrum/profile.h"

namespace fulcrum::calibrate {

/// Copies blocks by one thread of the near node, from near and far memory in turn: `near_copy` and `far_copy`
/// samples. Kinds: interrupted, those of memory_on().
Result<void> take_far_node(const Clock& clock, const MemoryPlan& plan, const NodePair& nodes,
                           const std::atomic<bool>& stop, Samples& samples);

/// far_node_penalty from those samples: time of the far copy / time of the near one. Pure and seeded.
void fit_far_node(const Samples& samples, std::uint64_t seed, TierProfile& tier);

}  // namespace fulcrum::calibrate
