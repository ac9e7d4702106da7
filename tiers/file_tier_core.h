// FileTierCore: what the parts of a file tier share. Internal to tiers/file_tier*.
//
//   FileReads     read jobs: rows to transfers, verification, progress
//   FileWrites    write jobs: gathering, placing, publishing
//   FileReclaim   makes room: moves what is worth it, retires segments
//   FileUpkeep    journal, growth, syncs, probes
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tiers/file_tier.h"
#include "tiers/io_queue.h"
#include "tiers/journal.h"
#include "tiers/recovery.h"

namespace fulcrum {

class FileTierCore final : public CheckpointSource {
 public:
  FileTierCore(const FileTierOptions& chosen, Clock& time, Device& medium, StoreState&& found)
      : options(chosen),
        clock(time),
        device(medium),
        queue(medium, queue_options(chosen)),
        state(std::move(found)),
        health(chosen.health),
        opened_(time.now()),
        opened_ms_(state.time_ms) {}

  // CheckpointSource
  void rewind() override;
  std::uint32_t encode_more(std::vector<std::byte>& out, std::size_t room) override;

  /// The store's time: milliseconds that it has been open, all in all. It stands still between two lives.
  [[nodiscard]] std::uint64_t time_ms() const {
    return opened_ms_ + static_cast<std::uint64_t>((clock.now() - opened_).value() * 1e3);
  }
  [[nodiscard]] bool writable() const { return !options.read_only && health.health() == Health::healthy; }
  [[nodiscard]] std::int64_t stride() const { return options.layout.stride(); }
  [[nodiscard]] std::uint32_t segment_pages() const {
    return static_cast<std::uint32_t>(options.layout.segment_bytes.value() /
                                      static_cast<std::int64_t>(kPage));
  }
  [[nodiscard]] std::uint32_t row_pages() const {
    return static_cast<std::uint32_t>(stride() / static_cast<std::int64_t>(kPage));
  }
  [[nodiscard]] std::int64_t place(std::uint32_t segment, std::uint32_t page) const {
    return options.layout.segment_offset(segment) + std::int64_t{page} * static_cast<std::int64_t>(kPage);
  }
  [[nodiscard]] std::uint64_t capacity_rows() const {
    return static_cast<std::uint64_t>(options.layout.capacity().value() / options.layout.row_bytes.value());
  }
  /// A block that can be read no more.
  void lose(const BlockKey& key) {
    if (!state.index.forget(key)) return;
    lost.push_back(key);
    ++tally.blocks_lost;
  }
  void report(TierEvent event);
  /// What came of a write of any kind, for the health of the tier.
  void on_write(const Result<void>& result) {
    if (result.has_error()) write_refused = result.error();
    health.on_write(result, clock.now());
  }

  FileTierOptions options;
  Clock& clock;
  Device& device;
  IoQueue queue;
  StoreState state;
  std::optional<Journal> journal;  ///< none where the store is only read
  HealthMonitor health;
  TierTally tally;  ///< of what the face does not count
  std::deque<TierEvent> events;
  std::vector<BlockKey> lost;
  bool closing = false;
  bool segment_wanted = false;           ///< writes wait for one
  std::uint64_t activity = 0;            ///< counts what may let another part go on
  std::uint64_t rows_being_written = 0;  ///< of user's jobs: placed and not yet live
  std::int64_t committed = 0;            ///< bytes of extents that the journal was given, ever
  std::optional<Error> growth_refused;   ///< why no further segment can be had now
  std::optional<Error> write_refused;    ///< the last write that failed

 private:
  static IoQueueOptions queue_options(const FileTierOptions& chosen) {
    // A load waits for no more than this, however large commits are.
    constexpr Bytes kTurnMost{std::int64_t{64} << 20};
    const Bytes turn = chosen.turning ? std::min(chosen.commit, kTurnMost) : chosen.io_size;
    return {chosen.io_size.value(), std::max(chosen.budget, chosen.io_size).value(), turn.value(),
            chosen.turning};
  }
  Seconds opened_;
  std::uint64_t opened_ms_;
  std::uint32_t next_segment_ = 0;  ///< of the checkpoint
  std::uint32_t next_extent_ = 0;
  bool history_told_ = false;
};

}  // namespace fulcrum
