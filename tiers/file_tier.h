// FileTier: blocks in append-only segments on one Device. One format for flash, HDD and shared pools.
//
//   [superblock x2 | journal A | journal B] [segment 0] [segment 1] ...      one flat space of the device
//
// An extent is a run of consecutive blocks of one chain, written in one piece at the head of the open
// segment; the journal publishes it once its data is complete. A read goes straight to the rows: key,
// place, generation and checksum are in memory. The byte layout is docs/formats.md.
//
//  - Nothing is trusted that does not verify: a row is checked against a checksum that covers its key, its
//    place and the segment's generation, so that bytes of another block, another place or an earlier life of
//    the segment fail as surely as flipped ones. A row that fails is read once more, then lost.
//  - Space: segments are allocated as they are needed, up to `segments`. What is full or cannot be grown is
//    reclaimed: the segment with the least live worth goes whole, its worthiest rows are written again, as
//    long as they are at most half of it; the rest is lost.
//  - I/O: reads of waiting loads go before preloads, and those before write-back; at most `budget` bytes are
//    in flight, in pieces of `io_size`. Neighbouring rows are one transfer where their memory is in one
//    piece. On turning disks reads are ordered by place, and one stream moves at a time.
//  - Turning disks: the head stays where rows are written until there are `commit` bytes of them, or for
//    seconds; only then it goes to the journal. Blocks can be read before that, from the moment their rows
//    are on the medium; what a process that dies has not told the journal is forgotten.
//  - Recovery replays the journal and verifies nothing else: rows are verified when they are read.
//
// Sans thread and sans file: the device may be simulated, the clock moved by hand.
// Threads: as Tier.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "tiers/device.h"
#include "tiers/file_layout.h"
#include "tiers/format.h"
#include "tiers/health.h"
#include "tiers/tier.h"

namespace fulcrum {

struct FileTierOptions {
  Namespace name;
  FileLayout layout;
  bool turning = false;    ///< a turning disk: ordered reads, one stream, large commits
  Bytes io_size{1 << 20};  ///< of one transfer, from the profile
  Bytes budget{32 << 20};  ///< bytes in flight, from the profile: io_size * depth
  Bytes commit{4 << 20};   ///< writes gather until so many bytes, from the profile; on turning disks: bytes
                           ///< between two visits of the journal
  Seconds linger{0.05};    ///< or until the oldest has waited so long
  Seconds checkpoint_age{30};  ///< worth and write budget are written down this often
  std::uint64_t owner = 0;     ///< nonce of this process: told in the superblock
  std::string writer;          ///< who holds it, for people: "pid 12 on host a"
  bool resize = false;         ///< take over a store with fewer or more segments: what lies beyond is lost
  bool read_only = false;      ///< for inspection: writes nothing, takes any namespace and layout
  Seconds wall{};              ///< since 1970, UTC, at the start, for WriteHistory; 0: the machine's
  Seconds open_limit{30};      ///< most that open() waits for one answer of the device
  HealthLimits health;
};

/// What was found at the start.
struct RecoveryReport {
  bool fresh = false;  ///< there was nothing
  bool clean = false;  ///< the last owner closed it
  std::uint64_t blocks = 0;
  std::uint64_t records = 0;          ///< of the journal
  std::uint64_t dropped_records = 0;  ///< torn or damaged, what came after them, or contradicted
  std::uint64_t beyond = 0;           ///< extents in segments that a smaller layout has no more
  bool damaged = false;               ///< records are missing that no crash can have cost
  Seconds elapsed{};
};

class FileTier final : public Tier {
 public:
  /// Formats an empty device, or recovers what is there. `clock` outlives the tier. Blocks while it reads the
  /// journal. Kinds: mismatch (another namespace, row size, layout, byte order or newer format: what differs
  /// and what to do), corrupt (both superblocks damaged, or gone while segments hold blocks: likewise),
  /// device, read_only, bad_input (layout against device).
  static Result<std::unique_ptr<FileTier>> open(std::unique_ptr<Device> device,
                                                const FileTierOptions& options, Clock& clock);
  /// Waits for nothing: what is in flight is the device's to end. close() first.
  ~FileTier() override;

  [[nodiscard]] const RecoveryReport& recovery() const;
  [[nodiscard]] WriteHistory history() const;
  [[nodiscard]] Device& device();
  /// Whose bytes these are, as the store says; of a new store, as the options said.
  [[nodiscard]] const Superblock& superblock() const;

  void wake() override;
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
  explicit FileTier(std::unique_ptr<Impl> impl);
  void count();
  std::unique_ptr<Impl> impl_;
};

}  // namespace fulcrum
