// HeadTable: from the first key of a run to its node. Open addressing, 8 bytes a slot.
//
// Keys live in the nodes; a slot holds 32 bits of the key's hash and the node's number. Lookups allocate
// nothing. Iteration is not offered: nothing may depend on the order of a hash table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/node.h"

namespace fulcrum {

class HeadTable {
 public:
  HeadTable() : slots_(64) {}

  /// The node whose first key is `key`, or kNoNode.
  [[nodiscard]] NodeId find(const BlockKey& key, const std::vector<PrefixNode>& nodes) const;
  /// Visits the nodes whose first keys have this hash.
  template <class Visit>
  void each(std::uint32_t h, Visit&& visit) const {
    for (std::size_t i = h & mask(); slots_[i].node != kNoNode; i = (i + 1) & mask()) {
      if (slots_[i].hash == h) visit(slots_[i].node);
    }
  }
  static std::uint32_t hash(const BlockKey& key);
  /// `node` is not in the table yet.
  void insert(const BlockKey& key, NodeId node);
  /// `key` is in the table: from now on it leads to `node`. Call while the old node still has the key.
  void replace(const BlockKey& key, NodeId from, NodeId to);
  void erase(const BlockKey& key, NodeId node);
  [[nodiscard]] std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    NodeId node = kNoNode;
  };
  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  [[nodiscard]] std::size_t place(const BlockKey& key, NodeId node) const;
  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace fulcrum
