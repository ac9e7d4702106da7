// How much memory this process can still get, and what sets the limit.
//
// The kernel promises more than it has: who asks for too much is not refused but killed later. So those who
// take much ask here first. Read from /proc and /sys; the root is a parameter, for trees of the tests.
#pragma once

#include <optional>
#include <string>

#include "fulcrum/units.h"

namespace fulcrum {

struct MemoryRoom {
  Bytes free{};       ///< caches that the kernel would drop included
  std::string limit;  ///< "the machine's memory", "memory.max of control group /pods/a"
};

/// The tightest of the machine's memory and the limits of this process's control groups (versions 1 and 2).
/// Nothing where the kernel does not say.
[[nodiscard]] std::optional<MemoryRoom> memory_room(const std::string& root = "");

}  // namespace fulcrum
