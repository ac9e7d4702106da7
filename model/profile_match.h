// Whether a profile belongs to the machine in hand. Pure: whoever asks collects the facts of now, and
// decides.
//
// To calculate or to simulate with another machine's profile is legitimate; to run with it is not.
#pragma once

#include <string>
#include <vector>

#include "fulcrum/profile.h"
#include "fulcrum/units.h"

namespace fulcrum {

/// What one tier of the profile would lie on today.
struct TierNow {
  std::string tier;  ///< its name in the profile
  DeviceIdentity device;
  std::string missing;  ///< why there is nothing to look at, as one sentence; empty where there is
};

/// The machine in hand. An empty text or a 0 stands for "the system does not say".
struct MachineNow {
  std::string cpu;
  int cores = 0;  ///< that the process may use
  Bytes memory{};
  std::string kernel;
  std::string utc;             ///< the time, ISO 8601
  std::vector<TierNow> tiers;  ///< those that are to be used, in any order; tiers of memory need no entry
};

/// One sentence for each difference.
struct MachineDifferences {
  std::vector<std::string> mismatches;  ///< another machine, or another drive: its figures do not hold here
  std::vector<std::string> notes;       ///< the same machine, but the figures may have moved

  [[nodiscard]] bool same_machine() const { return mismatches.empty(); }
};

/// A profile older than this is stale: drives wear and fill, firmware and kernels change.
inline constexpr int kStaleDays = 90;

/// Mismatches: processor, number of cores, memory (by more than 10 %: kernels reserve a little more or less);
/// a tier's filesystem, drive model and serial; and where the serials are not known, its directory (one below
/// the measured one is the same) and the kernel's name of the device: a drive whose serial is the same may be
/// mounted elsewhere. Notes: kernel, I/O scheduler, firmware, PCIe link, age. What one side does not know is
/// no difference, but a profile that says nothing about its machine, such as the example, belongs to none.
[[nodiscard]] MachineDifferences machine_differences(const MachineProfile& profile, const MachineNow& now);

}  // namespace fulcrum
