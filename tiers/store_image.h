// StoreImage: what lies in a store's directory, for tools: superblocks, journal, and the state they make.
//
// A store that is in use can be looked at: its owner is not disturbed, nothing is locked and nothing written.
// What is seen is then a moment of the past. Verifying needs the store at rest, repairing needs to own it.
// Any namespace and layout is taken as it is found.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_device.h"
#include "tiers/format.h"
#include "tiers/recovery.h"
#include "tiers/store_survey.h"

namespace fulcrum {

enum class StoreAccess : std::uint8_t {
  look,    ///< beside an owner
  verify,  ///< with other readers, without an owner
  repair,  ///< as the owner
};

struct StoreImage {
  std::string directory;
  StoreSurvey survey;
  Superblock superblock;  ///< the newest one
  int slot = 0;           ///< its place
  /// Of the two places: what is wrong with it; empty where nothing is.
  std::array<std::string, 2> superblock_faults;
  bool meta_cut = false;  ///< its file is shorter than it was made: records may be missing
  StoreState state;
  std::uint64_t batches = 0;  ///< of the journal
  std::uint64_t records = 0;
  std::uint64_t lost_records = 0;  ///< damaged, behind damage, or contradicted
  AlignedBuffer memory;            ///< of transfers: outlives the device
  std::unique_ptr<FileDevice> device;

  StoreImage(std::string where, StoreSurvey files, Superblock newest)
      : directory(std::move(where)),
        survey(std::move(files)),
        superblock(std::move(newest)),
        state(superblock.layout) {}

  /// The journal broke off in the middle or contradicts itself, and no crash can have been the cause.
  [[nodiscard]] bool journal_damaged() const {
    return meta_cut || lost_records > 1 || state.contradicted > 0 || (superblock.clean && lost_records > 0);
  }

  /// Kinds: bad_input (no store there), mismatch (a newer format), corrupt (no superblock is valid, or the
  /// files are of another layout, or it has lost `meta`), busy (in use: by whom), not_found, permission,
  /// device, no_memory.
  static Result<std::unique_ptr<StoreImage>> open(const std::string& directory, StoreAccess access,
                                                  Clock& clock);

  /// Takes blocks out of the store for good and closes it cleanly; how many it held of them. For images that
  /// were opened to repair; they are of no use afterwards. Kinds: no_memory, no_space, device, timed_out.
  Result<std::uint64_t> forget(std::span<const BlockKey> keys, Clock& clock);
};

}  // namespace fulcrum
