// File descriptors: all that are needed are asked for at the start, so that none is missing later.
#pragma once

#include <cstddef>
#include <string>

#include "fulcrum/result.h"

namespace fulcrum {

/// Raises the soft limit (ulimit -n) of this process, where it must be, to what it has open now, `more`, and
/// some to spare. Kinds: file_limit, with need and limit.
[[nodiscard]] Result<void> ensure_descriptors(std::size_t more, const std::string& directory);

}  // namespace fulcrum
