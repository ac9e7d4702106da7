// Room for files: what a filesystem has free, and how large files may be.
#pragma once

#include <optional>
#include <string>

#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

/// Bytes that this user may still take on the filesystem of an open file. Empty where it does not say.
[[nodiscard]] std::optional<Bytes> free_space(int descriptor);
/// The error of a full disk, with the number that the operator needs: how many of `needed` bytes are missing.
[[nodiscard]] Error with_shortfall(Error error, int descriptor, Bytes needed);
/// Whether a file may have this size (ulimit -f). Past that limit the kernel does not only fail: it sends
/// SIGXFSZ, which ends the process. Kinds: no_space.
[[nodiscard]] Result<void> check_file_size(Bytes size, const std::string& doing,
                                           const std::string& directory);

}  // namespace fulcrum
