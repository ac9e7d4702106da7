// Where a measurement runs: on the NUMA node that the drive is attached to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fulcrum/result.h"
#include "tiers/aligned_buffer.h"
#include "tiers/numa.h"

namespace fulcrum::calibrate {

/// Keeps the calling thread, and what it allocates, near the drive while it lives.
struct Placement {
  std::optional<NodePin> pin;
  std::string finding;  ///< where the thread stays, or why it does not; empty on a machine of one node
};
[[nodiscard]] Placement stay_near(const std::vector<NumaNode>& nodes, std::optional<int> drive_node);

/// Two nodes with processors that this process may use, as far apart as there are.
struct NodePair {
  NumaNode near;
  NumaNode far;
};
[[nodiscard]] std::optional<NodePair> farthest_nodes(const std::vector<NumaNode>& nodes);

/// Memory full of random bytes that lies on the node. Kinds: those of NodePin; no_memory; unsupported (it
/// lies on another one).
Result<AlignedBuffer> memory_on(const NumaNode& node, Bytes size, std::uint64_t seed);

}  // namespace fulcrum::calibrate
