// The machine that the program runs on, held against a profile.
#pragma once

#include <string>

#include "fulcrum/profile.h"
#include "model/profile_match.h"

namespace fulcrum::cli {

/// How the machine in hand, with the directories that the profile names, differs from the measured one.
/// Looks and writes nothing.
[[nodiscard]] MachineDifferences differences_here(const MachineProfile& profile);

/// For calculations and simulations: says on standard error whose figures they are, where the profile is
/// another machine's, and what else is to be known about it. `path` names the profile.
void note_whose_figures(const std::string& path, const MachineProfile& profile);

}  // namespace fulcrum::cli
