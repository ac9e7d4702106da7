// The two halves of a profile's YAML, apart from its file: profile_writer.cc and profile_reader.cc.
//
// Layout: comment lines, "schema: N", "checksum: ...", then the body. The checksum covers the body byte by
// byte. Keys carry their unit: _B bytes, _Bps bytes a second, _s seconds.
#pragma once

#include <string>

#include "base/document.h"
#include "fulcrum/profile.h"

namespace fulcrum {

/// Everything below the checksum line.
[[nodiscard]] std::string profile_body(const MachineProfile& profile);

/// Reads the body's keys from the root of a profile. What is wrong goes to `root`'s problems.
[[nodiscard]] MachineProfile read_profile_body(MapReader& root);

}  // namespace fulcrum
