// The example profile (configs/profiles/example.yaml), built into the program so that `fulcrum replay` runs
// before anything has been calibrated.
#pragma once

#include <string_view>

namespace fulcrum::cli {

inline constexpr const char* kExampleProfileName = "example (built in)";
extern const std::string_view kExampleProfile;

}  // namespace fulcrum::cli
