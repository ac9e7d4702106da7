// Copies of blocks from random places of one region to random places of another, timed.
#pragma once

#include <cstddef>
#include <span>

#include "base/clock.h"
#include "base/random.h"
#include "fulcrum/units.h"

namespace fulcrum::calibrate {

/// Rate of the calling thread: whole blocks until `window` is over. Each region holds a block at least.
[[nodiscard]] BytesPerSecond copy_blocks(const Clock& clock, std::span<const std::byte> source,
                                         std::span<std::byte> target, Bytes block, Seconds window,
                                         Random random);

}  // namespace fulcrum::calibrate
