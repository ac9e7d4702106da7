// EvictionOrder: the nodes that may leave one tier, least worth keeping first.
//
// An indexed binary heap: a node knows its place in it (PrefixNode::slots), so that moving one costs O(log
// n). Equal worth is broken by node number: the order is the same on every machine.
#pragma once

#include <vector>

#include "policy/prefix_index.h"

namespace fulcrum {

class EvictionOrder {
 public:
  EvictionOrder(PrefixIndex& index, std::size_t lane) : index_(&index), lane_(lane) {}

  /// Puts a node in, or moves it.
  void set(NodeId node, double worth);
  /// Takes a node out, if it is in.
  void remove(NodeId node);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] NodeId least() const { return heap_.front().node; }
  [[nodiscard]] double least_worth() const { return heap_.front().worth; }
  [[nodiscard]] std::size_t bytes() const { return heap_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    double worth = 0;
    NodeId node = kNoNode;
    [[nodiscard]] bool before(const Entry& other) const {
      return worth != other.worth ? worth < other.worth : node < other.node;
    }
  };
  [[nodiscard]] std::uint32_t& slot(NodeId node) { return (*index_)[node].slots[lane_]; }
  void put(std::size_t at, Entry entry);
  void rise(std::size_t at);
  void sink(std::size_t at);

  PrefixIndex* index_;
  std::size_t lane_;
  std::vector<Entry> heap_;
};

}  // namespace fulcrum
