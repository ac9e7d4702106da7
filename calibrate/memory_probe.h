// The memory probe: bandwidth of copying blocks from one place in memory to another, by one thread and by
// several. It makes the `dram` tier: what a load of KV from host memory costs at least, without a GPU.
//
// Source and destination are each larger than any processor cache where memory allows, filled with random
// data and touched beforehand; blocks are copied at random places. A load is one thread.
#pragma once

#include <atomic>
#include <vector>

#include "base/clock.h"
#include "calibrate/storage_probe.h"
#include "tiers/machine_facts.h"

namespace fulcrum::calibrate {

struct MemoryPlan {
  Bytes region{};  ///< of the source, and of the destination
  Bytes block{};   ///< copied at once
  std::vector<int> threads;
  std::vector<NumaNode> nodes;  ///< of the machine: with several, the farthest memory is measured too
  Seconds window{0.03};
  int settle_least = 10;
  int settle_most = 30;
  double target = 0.03;
  Seconds time_limit{4};
  std::uint64_t seed = 1;
};

[[nodiscard]] MemoryPlan memory_plan(const MachineFacts& facts, bool full, std::uint64_t seed);

/// Kinds: no_memory, interrupted.
Result<StorageReport> probe_memory(Clock& clock, const MemoryPlan& plan, const ProgressHook& progress,
                                   const std::atomic<bool>& stop);

}  // namespace fulcrum::calibrate
