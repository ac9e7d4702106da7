// What the targets of stores share with their test. Apart from targets.h: recovery has a function of the name
// of the room of replays.
#pragma once

#include "tests/fuzz/input.h"
#include "tests/support/crash_medium.h"
#include "tiers/recovery.h"

namespace fulcrum::fuzz {

/// What a recovered state never violates, whatever it was made from. Throws LawBroken.
void check_state(const StoreState& state, const FileLayout& layout);

/// A store that holds some blocks: as it was left in the middle of its work, or closed.
const test::Image& base_image(bool closed);

}  // namespace fulcrum::fuzz
