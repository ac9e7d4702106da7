#include "policy/prefix_index.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fulcrum {

PrefixIndex::PrefixIndex() : nodes_(1) {}

std::uint32_t PrefixIndex::match(NodeId id, std::span<const BlockKey> blocks) const {
  const std::vector<BlockKey>& keys = nodes_[id].keys;
  const std::size_t most = std::min(keys.size(), blocks.size());
  if (keys[most - 1] == blocks[most - 1]) return static_cast<std::uint32_t>(most);
  std::size_t same = 1;  // the first key led here
  std::size_t other = most - 1;
  while (same < other) {
    const std::size_t middle = (same + other) / 2;
    if (keys[middle] == blocks[middle]) {
      same = middle + 1;
    } else {
      other = middle;
    }
  }
  return static_cast<std::uint32_t>(same);
}

std::uint32_t PrefixIndex::trace(std::span<const BlockKey> blocks, std::vector<NodeId>& path) {
  path.clear();
  std::uint32_t known = 0;
  std::uint32_t matched_last = 0;
  walk(blocks, [&](NodeId id, std::uint32_t matched) {
    path.push_back(id);
    known += matched;
    matched_last = matched;
    return true;
  });
  if (!path.empty() && matched_last < nodes_[path.back()].count()) {
    path.back() = split(path.back(), matched_last);
  }
  return known;
}

NodeId PrefixIndex::append(NodeId parent, std::span<const BlockKey> keys) {
  FULCRUM_CHECK(!keys.empty(), "a node holds blocks");
  const NodeId id = allocate();
  PrefixNode& node = nodes_[id];
  node.keys.assign(keys.begin(), keys.end());
  node.start = nodes_[parent].end();
  link(id, parent);
  heads_.insert(keys.front(), id);
  for (std::size_t at = 0; at < keys.size(); ++at) {
    blocks_before_.insert(HeadTable::hash(keys[at]), before(node, at));
  }
  blocks_ += keys.size();
  return id;
}

std::uint32_t PrefixIndex::before(const PrefixNode& node, std::size_t at) const {
  if (at > 0) return HeadTable::hash(node.keys[at - 1]);
  return node.parent == kRoot ? BlockTable::kFront : HeadTable::hash(nodes_[node.parent].keys.back());
}

// Goes back from the block until a node is found that begins there and has the key as far behind its front.
// Equal hashes of other blocks lead astray and are followed too, until they come to a front.
void PrefixIndex::find_holders(const BlockKey& key, std::vector<NodeId>& holders) {
  std::vector<std::uint32_t> level = {HeadTable::hash(key)};
  std::vector<std::uint32_t> next;
  std::size_t left = 0;
  blocks_before_.each(level.front(), [&](std::uint32_t) { ++left; });
  for (std::size_t behind = 0; left > 0 && !level.empty() && behind <= blocks_; ++behind) {
    next.clear();
    for (const std::uint32_t hash : level) {
      heads_.each(hash, [&](NodeId id) {
        ++compared_;
        const std::vector<BlockKey>& keys = nodes_[id].keys;
        if (behind >= keys.size() || keys[behind] != key) return;
        holders.push_back(id);
        if (left > 0) --left;
      });
      blocks_before_.each(hash, [&](std::uint32_t before) {
        const bool known = std::ranges::find(next, before) != next.end();
        if (before != BlockTable::kFront && !known) next.push_back(before);
      });
    }
    level.swap(next);
  }
}

NodeId PrefixIndex::split(NodeId node, std::uint32_t at) {
  FULCRUM_CHECK(at > 0 && at < nodes_[node].count(), "a cut leaves blocks on both sides");
  const NodeId id = allocate();
  PrefixNode& front = nodes_[id];
  PrefixNode& back = nodes_[node];
  const auto cut = back.keys.begin() + at;
  front.keys.assign(back.keys.begin(), cut);
  std::vector<BlockKey>(cut, back.keys.end()).swap(back.keys);
  heads_.replace(front.keys.front(), node, id);
  heads_.insert(back.keys.front(), node);

  front.start = back.start;
  back.start += at;
  front.reach = back.reach;
  front.tick = back.tick;
  front.used = back.used;
  front.loading = back.loading;
  front.uses = back.uses;
  front.busy = back.busy;
  front.readers = back.readers;
  front.resident = back.resident;
  front.pending = back.pending;
  for (TierId tier = 0; tier < kMaxTiers; ++tier) {
    front.children_in[index_of(tier)] = back.in(tier) ? 1 : 0;
  }
  take_place(node, id);
  link(node, id);
  return id;
}

bool PrefixIndex::join(NodeId node) {
  const NodeId upper = nodes_[node].parent;
  if (upper == kRoot || upper == kNoNode) return false;
  PrefixNode& front = nodes_[upper];
  PrefixNode& back = nodes_[node];
  const bool only_child = front.first_child == node && back.next == kNoNode;
  const bool idle = front.busy == 0 && back.busy == 0;
  const bool same = front.tick == back.tick && front.uses == back.uses && front.resident == back.resident &&
                    front.pending == back.pending;
  if (!only_child || !idle || !same) return false;

  heads_.erase(back.keys.front(), node);
  heads_.replace(front.keys.front(), upper, node);
  front.keys.insert(front.keys.end(), back.keys.begin(), back.keys.end());
  back.keys.swap(front.keys);
  back.start = front.start;
  unlink(node);
  take_place(upper, node);
  release(upper);
  return true;
}

void PrefixIndex::forget(NodeId node, std::uint32_t blocks) {
  PrefixNode& leaf = nodes_[node];
  FULCRUM_CHECK(leaf.first_child == kNoNode && leaf.busy == 0, "only an idle leaf is forgotten");
  FULCRUM_CHECK(blocks <= leaf.count(), "no more blocks than it has");
  blocks_ -= blocks;
  for (std::size_t at = leaf.count() - blocks; at < leaf.count(); ++at) {
    blocks_before_.erase(HeadTable::hash(leaf.keys[at]), before(leaf, at));
  }
  if (blocks < leaf.count()) {
    leaf.keys.resize(leaf.keys.size() - blocks);
    return;
  }
  heads_.erase(leaf.keys.front(), node);
  unlink(node);
  release(node);
}

std::vector<BlockKey> PrefixIndex::keys_ending(NodeId node, std::uint32_t blocks) const {
  std::vector<BlockKey> keys(blocks);
  std::size_t left = blocks;
  for (NodeId id = node; left > 0; id = nodes_[id].parent) {
    FULCRUM_CHECK(id != kRoot, "the chain is long enough");
    const std::vector<BlockKey>& own = nodes_[id].keys;
    const std::size_t take = std::min(left, own.size());
    left -= take;
    std::copy_n(own.end() - static_cast<std::ptrdiff_t>(take), take,
                keys.begin() + static_cast<std::ptrdiff_t>(left));
  }
  return keys;
}

Bytes PrefixIndex::memory() const {
  std::size_t bytes = nodes_.capacity() * sizeof(PrefixNode) + free_.capacity() * sizeof(NodeId) +
                      heads_.bytes() + blocks_before_.bytes();
  for (const PrefixNode& node : nodes_) bytes += node.keys.capacity() * sizeof(BlockKey);
  return Bytes(static_cast<std::int64_t>(bytes));
}

NodeId PrefixIndex::allocate() {
  if (free_.empty()) {
    nodes_.emplace_back();
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  const NodeId id = free_.back();
  free_.pop_back();
  return id;
}

void PrefixIndex::release(NodeId id) {
  nodes_[id] = PrefixNode{};
  free_.push_back(id);
}

void PrefixIndex::link(NodeId child, NodeId parent) {
  PrefixNode& node = nodes_[child];
  node.parent = parent;
  node.previous = kNoNode;
  node.next = nodes_[parent].first_child;
  if (node.next != kNoNode) nodes_[node.next].previous = child;
  nodes_[parent].first_child = child;
}

void PrefixIndex::unlink(NodeId child) {
  const PrefixNode& node = nodes_[child];
  if (node.next != kNoNode) nodes_[node.next].previous = node.previous;
  (node.previous != kNoNode ? nodes_[node.previous].next : nodes_[node.parent].first_child) = node.next;
}

void PrefixIndex::take_place(NodeId from, NodeId to) {
  const PrefixNode& old = nodes_[from];
  PrefixNode& node = nodes_[to];
  node.parent = old.parent;
  node.next = old.next;
  node.previous = old.previous;
  if (node.next != kNoNode) nodes_[node.next].previous = to;
  (node.previous != kNoNode ? nodes_[node.previous].next : nodes_[node.parent].first_child) = to;
}

}  // namespace fulcrum
