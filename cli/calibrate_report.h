// What `fulcrum calibrate` prints: the plan beforehand, the result as a table, the same as JSON.
#pragma once

#include <iosfwd>
#include <string>

#include "calibrate/calibration.h"
#include "fulcrum/profile.h"

namespace fulcrum::cli {

void print_plan(std::ostream& out, const calibrate::CalibrationPlan& plan);
void print_result(std::ostream& out, const MachineProfile& profile);
/// `path` is where the profile was written.
[[nodiscard]] std::string calibration_json(const MachineProfile& profile, const std::string& path);

}  // namespace fulcrum::cli
