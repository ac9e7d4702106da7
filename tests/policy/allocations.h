// Counts what the whole test program allocates: allocations.cc replaces operator new.
#pragma once

#include <cstddef>

namespace fulcrum::testing {

[[nodiscard]] std::size_t allocations();

}  // namespace fulcrum::testing
