#include "calibrate/placement.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/errors.h"
#include "base/random.h"

namespace fulcrum::calibrate {
namespace {

bool usable(const NumaNode& node) {
  return !node.processors.empty() && NodePin::create(node).has_value();
}

}  // namespace

Placement stay_near(const std::vector<NumaNode>& nodes, std::optional<int> drive_node) {
  if (nodes.size() < 2) return {};
  const std::string loose = "threads and memory were not kept near the drive: ";
  if (!drive_node) return {std::nullopt, loose + "the system does not say which NUMA node it is attached to"};
  const auto node =
      std::find_if(nodes.begin(), nodes.end(), [&](const NumaNode& n) { return n.id == *drive_node; });
  if (node == nodes.end())
    return {std::nullopt, loose + "its NUMA node " + std::to_string(*drive_node) + " is not online"};
  auto pin = NodePin::create(*node);
  if (pin.has_error()) return {std::nullopt, loose + pin.error().message()};
  return {std::move(*pin), "measured from NUMA node " + std::to_string(node->id) +
                               ", which the drive is attached to; other nodes may be slower"};
}

std::optional<NodePair> farthest_nodes(const std::vector<NumaNode>& nodes) {
  std::optional<NodePair> found;
  int most = 0;
  for (const NumaNode& near : nodes) {
    if (!usable(near)) continue;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].id == near.id || !usable(nodes[i])) continue;
      const int distance = i < near.distances.size() ? near.distances[i] : 0;
      if (found && distance <= most) continue;
      found = NodePair{near, nodes[i]};
      most = distance;
    }
  }
  return found;
}

Result<AlignedBuffer> memory_on(const NumaNode& node, Bytes size, std::uint64_t seed) {
  Result<AlignedBuffer> made = make_error(ErrorKind::internal, "place memory", "", "not tried");
  std::jthread([&] {
    const auto pin = NodePin::create(node);
    if (pin.has_error()) {
      made = pin.error();
      return;
    }
    made = AlignedBuffer::allocate(static_cast<std::size_t>(size.value()));
    if (made.has_value()) Random(seed).fill(made->span());
  }).join();
  if (made.has_error()) return made;
  const auto lies_on = node_of(made->data() + made->size() / 2);
  if (lies_on && *lies_on != node.id) {
    return make_error(ErrorKind::unsupported, "place memory on", "NUMA node " + std::to_string(node.id),
                      "the system put it on node " + std::to_string(*lies_on));
  }
  return made;
}

}  // namespace fulcrum::calibrate
