// DramStore: the blocks of a DramTier, each in a row of the pool, and what is known of them.
//
// Internal to tiers/dram_*. A row counts against the quota from reserve() until nobody holds it any more:
// the tier, a lease or a copy under way. Threads: one at a time; leases may end in any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "tiers/dram_tier.h"
#include "tiers/key_hash.h"

namespace fulcrum {

class DramStore {
 public:
  /// Where a block stands in its chain, and what it is worth.
  struct Place {
    BlockKey parent;
    std::uint32_t first = 0;
    float worth = 0;
  };

  DramStore(std::shared_ptr<RowPool> pool, std::size_t rows, const Clock& clock, TierTally& tally);

  [[nodiscard]] Lease find(const BlockKey& key) const;
  [[nodiscard]] std::optional<std::vector<Row>> reserve(std::size_t count);
  /// From now on the block is found. One that is there already keeps its row.
  void keep(const BlockKey& key, const Place& place, Row row);
  void erase(std::span<const BlockKey> keys);
  void touch(std::span<const BlockKey> keys, std::optional<float> worth);
  void each_run(const std::function<void(const StoredRun&)>& visit) const;

  [[nodiscard]] const RowQuota& quota() const { return *quota_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }
  [[nodiscard]] std::size_t stride() const { return pool_->stride(); }
  [[nodiscard]] std::size_t row_bytes() const { return static_cast<std::size_t>(pool_->row_bytes().value()); }
  [[nodiscard]] TierTally& tally() { return tally_; }

 private:
  struct Block {
    Lease row;
    Place place;
    Seconds used{};
  };
  std::shared_ptr<RowPool> pool_;
  std::shared_ptr<RowQuota> quota_;
  const Clock& clock_;
  TierTally& tally_;
  std::unordered_map<BlockKey, Block, KeyHash> blocks_;
};

}  // namespace fulcrum
