// Preflight: looks at a directory before anything is measured there, and refuses early what cannot work.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "tiers/machine_facts.h"

namespace fulcrum::calibrate {

enum class Severity { ok, warn };  // what must be refused is an Error

struct PreflightFinding {
  Severity severity = Severity::ok;
  std::string text;  ///< one sentence
};

struct Preflight {
  std::string path;  ///< absolute
  DeviceIdentity device;
  IoMode mode;
  Medium medium = Medium::flash;
  bool in_memory = false;  ///< tmpfs: there is no drive below
  Bytes free{};            ///< for an unprivileged process
  Bytes filesystem{};      ///< size of the filesystem
  std::string sensor;      ///< of the drive's temperature, for temperature(); empty where there is none
  std::vector<PreflightFinding> findings;
};

/// Opens a small unnamed file in `path` and looks for half a second at who else uses the drive. `turning`
/// overrides what the kernel says about the medium. Kinds: not_found, permission, read_only, no_space,
/// quota, bad_input (not a directory), device.
Result<Preflight> preflight(const std::string& path, bool turning, const MachineFacts& facts, Clock& clock);

/// What to say of a link that runs below what the drive could do: it costs rate and shows nowhere else. Empty
/// where it does not, or where the kernel does not say.
[[nodiscard]] std::string link_finding(const PcieLink& link);

/// The medium that a path rests on, from what is known about it.
[[nodiscard]] Medium medium_of(const DeviceIdentity& device, bool turning);

}  // namespace fulcrum::calibrate
