// KeyHash: for unordered containers of BlockKey. The keys are hashes themselves.
#pragma once

#include <cstddef>

#include "fulcrum/key.h"

namespace fulcrum {

struct KeyHash {
  std::size_t operator()(const BlockKey& key) const noexcept {
    return static_cast<std::size_t>(key.low ^ (key.high * 0x9E3779B97F4A7C15ULL));
  }
};

}  // namespace fulcrum
