// NUMA: which processors and memory lie close together, and a way to stay there.
//
// Memory is placed by first touch: what a pinned thread allocates and fills lies on its own node. node_of()
// checks that it does. Read from /sys; the root is a parameter, so that tests bring a tree of their own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

struct NumaNode {
  int id = 0;
  std::vector<int> processors;  ///< that are switched on, in order
  Bytes memory{};
  std::vector<int> distances;  ///< to each online node, in their order; 10 is "here"
};

/// Nodes that are online, by id; empty where the kernel does not say.
[[nodiscard]] std::vector<NumaNode> numa_nodes(const std::string& sys = "/sys");

/// "0-3,8,10-11" as numbers; empty where it is no such list.
[[nodiscard]] std::vector<int> number_list(const std::string& text);

/// Keeps the calling thread on a node's processors; threads that it starts stay there too. Puts back what was
/// when it goes, and must go in the thread that made it.
class NodePin {
 public:
  /// Kinds: not_found (this process may use none of the node's processors), permission.
  static Result<NodePin> create(const NumaNode& node);
  ~NodePin();
  NodePin(NodePin&& other) noexcept;
  NodePin& operator=(NodePin&&) = delete;
  NodePin(const NodePin&) = delete;
  NodePin& operator=(const NodePin&) = delete;

 private:
  explicit NodePin(std::vector<int> before) : before_(std::move(before)) {}
  std::vector<int> before_;  ///< processors to return to; empty: nothing to put back
};

/// Node that holds the page of an address which was touched; empty where the kernel does not say.
[[nodiscard]] std::optional<int> node_of(const std::byte* address);

}  // namespace fulcrum
