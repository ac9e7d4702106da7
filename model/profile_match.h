// Whether a profile belongs to the device in hand.
#pragma once

#include <string>
#include <vector>

#include "fulcrum/profile.h"

namespace fulcrum {

/// One sentence for each thing in which the device of now differs from the one that was measured; empty when
/// the profile fits. What neither side knows (an empty field) is no difference. The path may differ when
/// the serial is the same: a drive can be mounted elsewhere.
[[nodiscard]] std::vector<std::string> differences(const DeviceIdentity& profile, const DeviceIdentity& now);

}  // namespace fulcrum
