// DramTier: blocks in rows of host memory. The one tier whose rows can be read in place.
//
// The rows come from a RowPool that it shares with staging; its own cap is exact: blocks held, reserved and
// leased never exceed `capacity`. An erased block that is leased lives on, unreachable and counted, until
// its last lease ends. It gives up nothing on its own: a write that does not fit fails with no_space, as a
// whole. Copies of read() and write() run inside poll(), a bounded share at a time, so that poll() never
// waits: it returns at once where there is nothing to copy.
// Threads: as Tier. Leases may end in any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "tiers/row_pool.h"
#include "tiers/tier.h"

namespace fulcrum {

/// A block that stays where it is while this is held.
using Lease = std::shared_ptr<const Row>;

class DramTier final : public Tier {
 public:
  /// `clock` outlives the tier. `capacity` is rounded down to whole rows, and to those of the pool.
  DramTier(std::shared_ptr<RowPool> pool, Bytes capacity, const Clock& clock);
  ~DramTier() override;

  /// The block in place, or null where the tier does not hold it.
  [[nodiscard]] Lease lease(const BlockKey& key) const;
  /// Rows within the cap, that the caller fills and publishes; nothing where they do not all fit.
  [[nodiscard]] std::optional<std::vector<Row>> reserve(std::size_t count);
  /// Makes filled rows readable under their keys, without a copy. Keys that are there already keep the row
  /// that they have. `first` and `parent` as in TierWrite. Counts as written; only rows of reserve().
  void publish(const BlockKey& parent, std::uint32_t first, std::span<const BlockKey> keys,
               std::vector<Row> rows, float worth);

  [[nodiscard]] bool contains(const BlockKey& key) const override;
  [[nodiscard]] TierStatus status() const override;
  [[nodiscard]] std::vector<BlockKey> take_lost() override;
  void each_run(const std::function<void(const StoredRun&)>& visit) const override;
  Result<void> close(Seconds limit) override;

 private:
  Result<void> do_read(TierRead job) override;
  Result<void> do_write(TierWrite job) override;
  void do_erase(std::span<const BlockKey> keys) override;
  void do_touch(std::span<const BlockKey> keys, float worth) override;
  void do_cancel(JobId id) override;
  std::size_t do_poll(std::span<TierEvent> out, Seconds wait) override;

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fulcrum
