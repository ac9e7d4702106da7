// The picture of break-even: seconds to compute a prefix against seconds to read it, over its length.
#pragma once

#include <string>

#include "fulcrum/profile.h"

namespace fulcrum::cli {

/// SVG text. The profile must hold prefill costs. Bands are 95 % intervals; dots mark break-even prefixes.
[[nodiscard]] std::string break_even_chart(const MachineProfile& profile);

}  // namespace fulcrum::cli
