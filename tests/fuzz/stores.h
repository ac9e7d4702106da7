// What the target of stores shares with the makers of its seeds.
#pragma once

#include "tests/support/crash_medium.h"

namespace fulcrum::fuzz {

/// A store that holds some blocks: as it was left in the middle of its work, or closed.
const test::Image& base_image(bool closed);

}  // namespace fulcrum::fuzz
