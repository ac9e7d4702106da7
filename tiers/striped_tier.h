// StripedTier: several tiers behind one, for a store on several drives.
//
// A write is cut into stripes, whose homes tiers/placement.h chooses among the members that are healthy: the
// drives of a long prefix read and write side by side. A block that is held somewhere stays there. A read
// goes where its blocks are; blocks that arrive early from one member wait for those in front of them from
// another, so that events still count front to back. Nothing is kept about where blocks are but in the
// members: they are asked. So members may come, go and change places between two starts, and no block moves.
//
// A member that is disabled or dead holds nothing as far as anybody can see: its blocks are not_found until
// it answers again, and the others go on. Health is that of the best member; status().reason names the rest.
//
// A write that fails or is cancelled leaves its leading blocks, as far as they were reported. What was
// written behind them is erased again.
//
// Threads: as Tier. poll() serves all members in turn; where it has to wait for several, it looks at each of
// them every fraction of a millisecond.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tiers/tier.h"

namespace fulcrum {

struct StripedMember {
  std::string name;  ///< stays the same from start to start, as the path does
  std::unique_ptr<Tier> tier;
  double weight = 1;  ///< share of the blocks: bandwidth or capacity; above 0
};

struct StripedOptions {
  Bytes stripe_bytes{8 << 20};  ///< at least one row is taken
};

class StripedTier final : public Tier {
 public:
  /// At least one member; all with the same rows and with names of their own. `clock` outlives the tier.
  StripedTier(std::vector<StripedMember> members, const StripedOptions& options, const Clock& clock);
  ~StripedTier() override;

  void wake() override;
  [[nodiscard]] bool contains(const BlockKey& key) const override;
  [[nodiscard]] TierStatus status() const override;
  [[nodiscard]] std::vector<BlockKey> take_lost() override;
  void each_run(const std::function<void(const StoredRun&)>& visit) const override;
  Result<void> close(Seconds limit) override;
  [[nodiscard]] std::size_t jobs_max() const override;

 private:
  Result<void> do_read(TierRead job) override;
  Result<void> do_write(TierWrite job) override;
  void do_erase(std::span<const BlockKey> keys) override;
  void do_touch(std::span<const BlockKey> keys, float worth) override;
  void do_cancel(JobId id) override;
  std::size_t do_poll(std::span<TierEvent> out, Seconds wait) override;
  void adopt_tallies();

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fulcrum
