// Whole-file reads and atomic whole-file writes.
#pragma once

#include <string>
#include <string_view>

#include "fulcrum/result.h"

namespace fulcrum {

/// Replaces `path` with `contents`: temporary beside it, fsync, rename, fsync of the directory. A reader
/// (or a crash) sees the old file or the new one, whole. The temporary is removed on failure.
/// Kinds: no_space, quota, read_only, permission, not_found (directory), device, file_limit.
Result<void> write_file_atomically(const std::string& path, std::string_view contents);

/// Reads all of a regular file of at most `limit` bytes. Kinds: not_found, permission, device,
/// bad_input (a directory, or larger than the limit).
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{64} << 20);

}  // namespace fulcrum
