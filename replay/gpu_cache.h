// GpuCache: the prefix cache that a serving engine keeps in GPU memory, at block granularity.
//
// Exact least-recently-used. A prompt is touched from its tail to its front, so that a block is never colder
// than its children: what is evicted first is the end of the coldest prefix. Holds at most `blocks` blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "fulcrum/key.h"
#include "replay/key_hash.h"

namespace fulcrum::replay {

class GpuCache {
 public:
  explicit GpuCache(std::size_t blocks) : capacity_(blocks) {}

  /// Leading blocks of the chain that are held. Does not touch them.
  [[nodiscard]] std::size_t leading(std::span<const BlockKey> chain) const;
  /// Makes the chain the most recently used; evicts what no longer fits.
  void insert(std::span<const BlockKey> chain);
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

 private:
  struct Slot {
    BlockKey key;
    std::uint32_t newer = 0;
    std::uint32_t older = 0;
  };
  static constexpr std::uint32_t kHead = 0;  ///< ring: head.older is the newest, head.newer the oldest

  void touch(const BlockKey& key);
  void link_newest(std::uint32_t slot);
  void unlink(std::uint32_t slot);

  std::size_t capacity_;
  std::vector<Slot> ring_{1};
  std::unordered_map<BlockKey, std::uint32_t, KeyHash> slots_;
};

}  // namespace fulcrum::replay
