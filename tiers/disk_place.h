// Where on a disk a file lies: the outer zone of a turning disk, which comes first, is about twice as fast as
// the innermost.
#pragma once

#include <span>
#include <string>

#include "fulcrum/result.h"
#include "fulcrum/units.h"
#include "tiers/mount.h"

namespace fulcrum {

/// Bytes from the disk's first; of all of a file's pieces.
struct DiskPlace {
  Bytes first{};
  Bytes last{};    ///< behind the last one
  Bytes middle{};  ///< mean over the file's bytes
  int pieces = 0;
  Bytes disk{};  ///< size of the disk

  [[nodiscard]] double share() const { return middle / disk; }
};

/// Asks the filesystem (FIEMAP). Kinds: unsupported (it does not say, or the file does not lie on one disk
/// directly), device.
[[nodiscard]] Result<DiskPlace> disk_place(int descriptor, const std::string& sys = "/sys");

/// Places on the disk that `device` is, from extents of the filesystem on it: what disk_place() does once it
/// has been told. Kinds: unsupported.
struct FileExtent {
  Bytes at{};
  Bytes length{};
};
[[nodiscard]] Result<DiskPlace> place_of(std::span<const FileExtent> extents, const BlockDevice& device);

}  // namespace fulcrum
