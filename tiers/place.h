// What a file or a directory lies on, asked without writing anything there.
#pragma once

#include <string>

#include "fulcrum/profile.h"
#include "fulcrum/result.h"

namespace fulcrum {

/// Of an open file or directory. `path` is only written down. What the system does not say is empty.
[[nodiscard]] DeviceIdentity identity_of(int descriptor, const std::string& path);
/// Of a directory, by its absolute path: what a FileDevice opened there would say of itself.
/// Kinds: not_found (also where it is no directory), permission, device, stale.
[[nodiscard]] Result<DeviceIdentity> identity_at(const std::string& directory);

}  // namespace fulcrum
