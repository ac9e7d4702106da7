// Tier: where blocks rest. Fixed-size rows of bytes under BlockKeys, moved asynchronously; knows no policy.
//
// A non-virtual face over few virtuals, as Device: the face checks arguments and counts. DramTier keeps rows
// in memory, FileTier in segments on a Device, StripedTier on several FileTiers. They and the decorators of
// the tests join one contract suite, tests/tiers/tier_contract.h.
//
// What every tier promises:
//  - a row that was read equals the row that was written under that key, or the read fails;
//  - a block can be read from the moment its write was reported, never before;
//  - a job ends exactly once; memory of its rows belongs to the tier until then, also after cancel();
//  - blocks arrive front to back: `blocks` of an event counts leading blocks of the job; rows of a read that
//    an event has counted are the caller's again;
//  - bytes held never exceed capacity(); what the tier gives up on its own is told by take_lost().
// Nothing blocks but poll() and close(). Threads: one at a time; wake() may be called by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fulcrum/key.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

using JobId = std::uint64_t;

/// Who waits: what is urgent goes first wherever jobs queue.
enum class Urgency : std::uint8_t { load, preload, write_back };

/// Consecutive blocks of one chain to be brought into rows.
struct TierRead {
  JobId id = 0;  ///< chosen by the caller, unique among its jobs in flight
  Urgency urgency = Urgency::load;
  std::vector<BlockKey> keys;
  std::vector<std::byte*> rows;  ///< one a key, aligned to 4096, row_bytes() rounded up to 4096 each
};

/// Consecutive blocks of one chain to be kept.
struct TierWrite {
  JobId id = 0;
  BlockKey parent;          ///< key of the block before keys[0]; that of BlockKey::root for the first one
  std::uint32_t first = 0;  ///< position of keys[0] in its chain, in blocks
  std::vector<BlockKey> keys;
  std::vector<const std::byte*> rows;  ///< as in TierRead; must not change until the job has ended
  float worth = 0;                     ///< log2 of what a block is worth: what has least leaves first
};

/// Progress of a job. The last event of a job has `ended`.
struct TierEvent {
  JobId id = 0;
  std::uint32_t blocks = 0;  ///< leading blocks of the job that have arrived
  bool ended = false;
  Result<void> result;  ///< of the job, once ended. Kinds: not_found (the tier has it no more), corrupt,
                        ///< device, no_space, quota, read_only, timed_out, interrupted (cancelled)
  Seconds elapsed{};    ///< since the job was given
};

/// One run of blocks that a tier holds: consecutive blocks of one chain.
struct StoredRun {
  BlockKey parent;
  std::uint32_t first = 0;
  std::vector<BlockKey> keys;
  float worth = 0;
  Seconds age{};  ///< since it was written or last read, as far as the tier knows
};

/// What a tier can be used for. See tiers/health.h for the way between them.
enum class Health : std::uint8_t {
  healthy,
  degraded,  ///< reads only
  disabled,  ///< neither; it is probed until it answers again
  dead,      ///< for the life of this process
};
[[nodiscard]] std::string_view to_string(Health health);

struct TierStatus {
  Health health = Health::healthy;
  std::string reason;  ///< why it is not healthy, and what to do
  Bytes capacity{};    ///< bytes of rows that it may hold
  Bytes used{};        ///< bytes of rows held or being written
  Bytes allocated{};   ///< bytes taken from the medium, bookkeeping included
  Bytes live{};        ///< bytes of rows that can be read
  Bytes at_once{};     ///< bytes of reads that keep its devices busy; what is asked for beyond them waits
  std::uint64_t blocks = 0;
};

/// What has happened since the tier was opened. The first three are counted by the face, from the events.
struct TierTally {
  std::uint64_t blocks_read = 0;
  std::uint64_t blocks_written = 0;
  std::uint64_t failed_jobs = 0;  ///< cancelled ones are not failures
  std::uint64_t blocks_lost = 0;  ///< given up by the tier itself
  std::uint64_t corrupt = 0;      ///< rows that failed their checksum
  Bytes medium_read{};            ///< bytes asked of the device, bookkeeping included
  Bytes medium_written{};         ///< as above; over blocks_written * row_bytes(): the write amplification
};

class Tier {
 public:
  virtual ~Tier() = default;
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;

  /// Starts a job. Kinds: bad_input (no keys, counts that differ, a null or misaligned row, an id in use),
  /// busy (more jobs than jobs_max()), and what the health refuses: read_only, device.
  Result<void> read(TierRead job);
  Result<void> write(TierWrite job);
  /// Forgets blocks at once. Unknown keys are no error. A block that is being read is forgotten after that.
  void erase(std::span<const BlockKey> keys);
  /// These blocks were used: their worth is now this. Unknown keys are ignored.
  void touch(std::span<const BlockKey> keys, float worth);
  /// Asks a job to end soon. It ends as any other, with kind interrupted unless it was done before.
  void cancel(JobId id);
  /// Collects events; waits up to `wait` for the first. Returns their number. Also moves the tier's own work.
  std::size_t poll(std::span<TierEvent> out, Seconds wait);
  /// Ends a poll() that waits in another thread. Thread-safe.
  virtual void wake() {}

  [[nodiscard]] virtual bool contains(const BlockKey& key) const = 0;
  [[nodiscard]] virtual TierStatus status() const = 0;
  /// Keys given up since the last call: reclaimed, unreadable, or lost with a part of the medium.
  [[nodiscard]] virtual std::vector<BlockKey> take_lost() = 0;
  /// Visits all that can be read, in no order. What recovery found is told this way.
  virtual void each_run(const std::function<void(const StoredRun&)>& visit) const = 0;
  /// Writes down what makes the next start quick and waits for jobs, at most so long. Jobs that have not
  /// ended by then are reported interrupted by the next poll, and their rows are free again only if
  /// in_flight() is 0. The tier takes no jobs afterwards.
  virtual Result<void> close(Seconds limit) = 0;

  [[nodiscard]] Bytes row_bytes() const { return row_bytes_; }
  /// Jobs started and not ended.
  [[nodiscard]] std::size_t in_flight() const { return running_.size(); }
  [[nodiscard]] virtual std::size_t jobs_max() const { return 1024; }
  [[nodiscard]] const TierTally& tally() const { return tally_; }

 protected:
  explicit Tier(Bytes row_bytes) : row_bytes_(row_bytes) {}
  virtual Result<void> do_read(TierRead job) = 0;
  virtual Result<void> do_write(TierWrite job) = 0;
  virtual void do_erase(std::span<const BlockKey> keys) = 0;
  virtual void do_touch(std::span<const BlockKey> keys, float worth) = 0;
  virtual void do_cancel(JobId id) = 0;
  virtual std::size_t do_poll(std::span<TierEvent> out, Seconds wait) = 0;
  TierTally tally_;

 private:
  struct Running {
    bool reads = false;
    std::uint32_t blocks = 0;   ///< of the job
    std::uint32_t arrived = 0;  ///< counted so far
  };
  [[nodiscard]] Result<void> admit(JobId id, std::size_t blocks,
                                   std::span<const std::byte* const> rows) const;
  void count(const TierEvent& event);

  Bytes row_bytes_;
  std::unordered_map<JobId, Running> running_;
};

}  // namespace fulcrum
