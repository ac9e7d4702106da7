// StoreFiles: the files of a store in a directory that persists.
//
//   DIR/LOCK              who holds it (owner_lock.h); meta is locked as well
//   DIR/meta              head bytes
//   DIR/segments/000000   piece bytes each, as many as the layout has
//
// All are opened at the start and nothing later; a missing segment is made anew, empty. They have their full
// size from the start and take no space: that is what IoKind::allocate is for. Files 0600, DIR/segments 0700.
// DIR must exist: a drive that is not mounted is no empty store. Nothing else in it is touched. Files are
// never made smaller, and a directory with another layout is left as it is.
//
// Direct I/O is tried with a file of its own; refusal() says why it is not used. Alignment is 4096 or more on
// every drive, so that a store may move.
// Threads: immutable once made.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "fulcrum/result.h"
#include "tiers/file_set.h"
#include "tiers/owner_lock.h"

namespace fulcrum {

/// Sizes are positive multiples of 4096.
struct StoreFilesOptions {
  Bytes head{};              ///< of meta
  Bytes piece{};             ///< of each segment
  std::size_t pieces = 0;    ///< segments, 1..999999
  bool direct = true;        ///< try O_DIRECT
  bool read_only = false;    ///< for inspection: makes and changes nothing; missing files and the end
                             ///< of a meta that was cut read as zeros
  bool demand_space = true;  ///< refuse to open where the disk cannot hold all of it
  bool head_told = false;    ///< by its superblock: a longer meta is one that was to grow, and was not used
  bool locked = true;        ///< with read_only, false: looks on beside an owner, at what may be changing
};

/// What lies in a directory.
struct FoundStore {
  Bytes head{};            ///< of meta; 0: there is no store
  Bytes piece{};           ///< of the largest segment
  std::size_t pieces = 0;  ///< the highest number of a segment, plus one
  Bytes allocated{};       ///< space that the files take on the disk
};

class StoreFiles final : public FileSet {
 public:
  /// Kinds: bad_input (sizes), not_found, permission, busy (who holds it), mismatch (another layout lies
  /// there), no_space (with the bytes that are missing), file_limit (with need and limit), read_only, device.
  static Result<std::shared_ptr<const StoreFiles>> open(const std::string& directory,
                                                        const StoreFilesOptions& options);
  /// For tools: opens with read_only what look_at() finds. Kinds: not_found, permission, device.
  static Result<FoundStore> look_at(const std::string& directory);

  /// Null where it is only read.
  [[nodiscard]] const OwnerRecord* owner() const { return read_only_ ? nullptr : &lock_->record(); }
  /// Meta each time, segments by turns.
  [[nodiscard]] Result<void> in_place(std::uint64_t look) const override;
  /// Why space cannot be taken beforehand; empty where it can.
  [[nodiscard]] const std::string& space_refusal() const { return space_refusal_; }

 private:
  StoreFiles(std::string directory, const StoreFilesOptions& options, std::unique_ptr<OwnerLock> lock);
  Result<void> open_all(const StoreFilesOptions& options);
  Result<void> open_one(std::size_t index, Bytes size);
  Result<void> take_meta();
  [[nodiscard]] std::string path_of(std::size_t index) const override;

  std::unique_ptr<OwnerLock> lock_;
  bool read_only_;
  std::string space_refusal_;
};

}  // namespace fulcrum
