// Hash of a block key for the hash tables of this room.
#pragma once

#include <cstddef>

#include "fulcrum/key.h"

namespace fulcrum::replay {

struct KeyHash {
  std::size_t operator()(const BlockKey& key) const {
    return static_cast<std::size_t>(key.low ^ (key.high * 0x9E3779B97F4A7C15ULL));
  }
};

}  // namespace fulcrum::replay
