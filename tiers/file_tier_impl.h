// FileTier::Impl: the parts of a file tier and the loop that drives them. Internal to tiers/file_tier*.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "tiers/file_reads.h"
#include "tiers/file_reclaim.h"
#include "tiers/file_tier_core.h"
#include "tiers/file_upkeep.h"
#include "tiers/file_writes.h"

namespace fulcrum {

/// What a start begins with: found on the device, or new.
struct StoreStart {
  Superblock superblock;
  int slot = 1;
  StoreState state;
  RecoveryReport report;
};

class FileTier::Impl {
 public:
  struct Buffers {
    AlignedBuffer headers;
    AlignedBuffer rows;
    AlignedBuffer probe;
  };

  Impl(std::unique_ptr<Device> device, const FileTierOptions& options, Clock& clock, StoreStart&& start,
       Buffers&& buffers);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Takes the space of a new store, writes the first checkpoint: from here on the journal can be appended
  /// to.
  Result<void> begin(Seconds limit);
  std::size_t poll(std::span<TierEvent> out, Seconds wait);
  Result<void> close(Seconds limit);
  void wake();
  [[nodiscard]] TierStatus status() const;
  void each_run(const std::function<void(const StoredRun&)>& visit) const;
  [[nodiscard]] Result<void> takes(bool writes) const;

 private:
  friend class FileTier;
  /// One round of all parts; false where nothing has happened.
  bool round();
  void unblock_writes();
  /// Waits for the device, the next timer or wake(), at most until `deadline`. False where woken.
  bool rest(Seconds deadline);
  void drain(Seconds deadline);
  Result<void> write_goodbye(Seconds deadline);

  std::unique_ptr<Device> device_;
  Superblock superblock_;
  RecoveryReport report_;
  FileTierCore core_;
  FileReads reads_;
  FileWrites writes_;
  FileReclaim reclaim_;
  FileUpkeep upkeep_;
  int slot_;
  bool closed_ = false;
  bool device_lost_ = false;

  std::mutex mutex_;
  std::condition_variable signal_;
  bool woken_ = false;  ///< guarded by mutex_
};

}  // namespace fulcrum
