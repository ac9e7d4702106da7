// DirectIo: whether transfers of a file really go around the page cache, and what they must be aligned to.
#pragma once

#include <cstddef>
#include <string>

#include "fulcrum/result.h"

namespace fulcrum {

struct DirectIo {
  bool works = false;
  /// Of offsets, sizes and addresses, a power of two. 512 in buffered mode, so that callers who respect it
  /// find direct mode the same.
  std::size_t alignment = 512;
  std::string refusal;  ///< why it does not work; empty where it does or was not asked for
  int code = 0;         ///< errno of the transfer that was refused, or 0
};

/// Opened with O_DIRECT was refused with this errno.
[[nodiscard]] DirectIo direct_refused(const std::string& directory, int code);
/// Of a file opened with O_DIRECT: what the system says about it, without a transfer.
[[nodiscard]] DirectIo ask_direct(int descriptor, const std::string& directory);
/// As above, and then tried: writes up to 8 KiB into the file, which its owner can spare.
[[nodiscard]] DirectIo try_direct(int descriptor, const std::string& directory);
/// From now on through the page cache.
[[nodiscard]] Result<void> turn_off_direct(int descriptor, const std::string& directory);

}  // namespace fulcrum
