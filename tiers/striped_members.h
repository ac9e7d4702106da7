// StripedMembers: the members of a striped tier, what they can be used for, and which of them holds a block.
//
// Internal to tiers/striped_*. Health is as of the last refresh(). Blocks that are being written are hidden
// until one of their writers has reported them, so that nothing can be read before. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tiers/key_hash.h"
#include "tiers/placement.h"
#include "tiers/striped_tier.h"

namespace fulcrum {

class StripedMembers {
 public:
  StripedMembers(std::vector<StripedMember> members, std::size_t stripe_blocks);

  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] Tier& operator[](std::size_t i) const { return *members_[i].tier; }
  void refresh();
  [[nodiscard]] bool readable(std::size_t i) const { return health_[i] <= Health::degraded; }
  [[nodiscard]] Health best() const;
  /// "name: reason" of all that are not healthy.
  [[nodiscard]] std::string reasons() const;

  /// Who can give the block now.
  [[nodiscard]] std::optional<std::size_t> holder(const BlockKey& key) const;
  /// Where each block of a write is to go; nothing where it is held already. Some member must be healthy.
  [[nodiscard]] std::vector<std::optional<std::size_t>> targets(const TierWrite& write) const;

  /// A write of these blocks begins, has reported its first ones, is over.
  void on_begin(std::span<const BlockKey> keys, std::span<const std::optional<std::size_t>> targets);
  void on_reported(std::span<const BlockKey> keys);
  void on_over(std::span<const BlockKey> keys);

  void each_run(const std::function<void(const StoredRun&)>& visit) const;

 private:
  struct Writing {
    std::size_t member = 0;
    std::uint32_t writers = 0;
    bool reported = false;
  };
  [[nodiscard]] bool hidden(const BlockKey& key) const;
  [[nodiscard]] std::vector<PlacementMember> healthy() const;

  std::vector<StripedMember> members_;
  std::vector<PlacementMember> placement_;
  std::vector<Health> health_;
  std::size_t stripe_blocks_;
  std::unordered_map<BlockKey, Writing, KeyHash> writing_;
};

}  // namespace fulcrum
