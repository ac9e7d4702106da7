// FileStore: a FileTier in a directory. What the engine, inspection and verification open.
//
// The directory must exist. Empty: a store is made there. With a store of the same bytes: it is recovered, as
// far as its journal is whole, and resized to the capacity (store_resize.h); what is missing is logged. With
// anything else, or with blocks and no superblock: refused with what is wrong, or replaced where the options
// say so.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "tiers/file_device.h"
#include "tiers/file_tier.h"

namespace fulcrum {

struct FileStoreOptions {
  Namespace name;
  Bytes row_bytes{};
  /// Of the medium, bookkeeping and spare segments included. Less than at the last start: blocks in segments
  /// that do not fit any more are misses, and their space is given back.
  Bytes capacity{};
  Medium medium = Medium::flash;
  Bytes io_size{1 << 20};  ///< these three from the profile
  int depth = 32;
  Bytes commit{4 << 20};
  bool replace_foreign = false;  ///< a store of other bytes or another layout: delete it and start empty
  /// Rows that transfers will use: registered with the kernel where it allows.
  std::span<std::byte> rows;
  DirectChoice direct = DirectChoice::automatic;
  EngineChoice engine = EngineChoice::automatic;
  /// Puts something between the tier and its device: faults for tests, stalls for benchmarks.
  std::function<std::unique_ptr<Device>(std::unique_ptr<Device>)> wrap;
};

struct FileStore {
  std::unique_ptr<FileTier> tier;
  std::string io;        ///< what is really used, and why it is not better: "io_uring, O_DIRECT"
  bool damaged = false;  ///< it has lost records that no crash can have cost; the log says so
};

/// Kinds: those of StoreFiles::open, FileDevice::open_store, FileLayout::for_capacity and FileTier::open.
/// `clock` outlives the tier.
[[nodiscard]] Result<FileStore> open_file_store(const std::string& directory, const FileStoreOptions& options,
                                                Clock& clock);

}  // namespace fulcrum
