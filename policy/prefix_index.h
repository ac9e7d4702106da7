// PrefixIndex: a path-compressed tree of block chains.
//
// Keys are chained, so a key proves the whole prefix before it. A run of blocks without a branch is one
// node, found by its first key; its last key proves the run, and where a chain leaves it is found by binary
// search. A chain of thousands of blocks is looked up with a handful of probes and no allocation.
//
// The index knows nothing of tiers or values; whoever changes `resident` and `pending` keeps the counts of
// present children (policy/residency.h). PrefixNode references are good until the next append() or split().
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fulcrum/units.h"
#include "policy/block_table.h"
#include "policy/head_table.h"
#include "policy/node.h"

namespace fulcrum {

class PrefixIndex {
 public:
  PrefixIndex();

  [[nodiscard]] const PrefixNode& operator[](NodeId id) const { return nodes_[id]; }
  [[nodiscard]] PrefixNode& operator[](NodeId id) { return nodes_[id]; }

  /// Visits the nodes along the known part of a chain, front to back: visit(node, matched) with the number
  /// of leading blocks of the node that belong to the chain; false ends the walk. Blocks that are known
  /// behind others than those of this chain are not part of it.
  template <class Visit>
  void walk(std::span<const BlockKey> blocks, Visit&& visit) const {
    NodeId above = kRoot;
    for (std::size_t at = 0; at < blocks.size();) {
      const NodeId id = heads_.find(blocks[at], nodes_);
      if (id == kNoNode || nodes_[id].parent != above) return;
      const std::uint32_t matched = match(id, blocks.subspan(at));
      if (!visit(id, matched) || matched < nodes_[id].count()) return;
      at += matched;
      above = id;
    }
  }

  /// Visits every node that was there at the start of the call; the visitor may split them.
  template <class Visit>
  void each(Visit&& visit) {
    const auto count = static_cast<NodeId>(nodes_.size());
    for (NodeId id = kRoot + 1; id < count; ++id) {
      if (!nodes_[id].keys.empty()) visit(id);
    }
  }
  /// The nodes that have a block of this key, wherever in them it is: found from the block to the front of
  /// its node, block by block.
  void find_holders(const BlockKey& key, std::vector<NodeId>& holders);
  /// The node that begins with this key, or kNoNode.
  [[nodiscard]] NodeId find_head(const BlockKey& key) const { return heads_.find(key, nodes_); }

  /// The nodes along the known part of a chain, into `path`; the last one is split where the chain leaves
  /// it. Returns the number of blocks known.
  std::uint32_t trace(std::span<const BlockKey> blocks, std::vector<NodeId>& path);
  /// Adds blocks behind `parent` as one node. None of the keys is known.
  NodeId append(NodeId parent, std::span<const BlockKey> keys);
  /// Cuts `node` before its block `at`, 0 < at < count. The back keeps the number; returns the front's.
  NodeId split(NodeId node, std::uint32_t at);
  /// Joins `node` with its parent if nothing tells them apart. The parent's number is gone then.
  bool join(NodeId node);
  /// Forgets the last blocks of a node without children; the node itself if none are left.
  void forget(NodeId node, std::uint32_t blocks);
  /// Keys of the `blocks` blocks that end with the last one of `node`, front to back.
  [[nodiscard]] std::vector<BlockKey> keys_ending(NodeId node, std::uint32_t blocks) const;

  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t nodes() const { return nodes_.size() - free_.size() - 1; }
  [[nodiscard]] Bytes memory() const;
  /// Nodes that find_holders() has compared a key with since the start: what it costs, for tests and benches.
  [[nodiscard]] std::uint64_t compared() const { return compared_; }

 private:
  [[nodiscard]] std::uint32_t match(NodeId id, std::span<const BlockKey> blocks) const;
  NodeId allocate();
  void release(NodeId id);
  void link(NodeId child, NodeId parent);
  void unlink(NodeId child);
  /// Hash of the block before the one at `at` of a node.
  [[nodiscard]] std::uint32_t before(const PrefixNode& node, std::size_t at) const;
  /// `to` takes the place of `from` among its siblings.
  void take_place(NodeId from, NodeId to);

  std::vector<PrefixNode> nodes_;
  std::vector<NodeId> free_;
  HeadTable heads_;
  BlockTable blocks_before_;
  std::size_t blocks_ = 0;
  std::uint64_t compared_ = 0;
};

}  // namespace fulcrum
