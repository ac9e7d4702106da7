// index_of: a tier's place in arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fulcrum/decision.h"

namespace fulcrum {

/// `tier` is one of the policy's, not kGpu or kNowhere.
[[nodiscard]] constexpr std::size_t index_of(TierId tier) {
  return static_cast<std::uint8_t>(tier);
}

}  // namespace fulcrum
