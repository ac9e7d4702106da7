// MachineFacts: what the kernel says about the machine that is being measured. What it does not say is empty.
#pragma once

#include <string>
#include <vector>

#include "fulcrum/units.h"
#include "tiers/numa.h"

namespace fulcrum {

struct MachineFacts {
  std::string kernel;  ///< "Linux 6.1.0-18-amd64 x86_64"
  std::string cpu;     ///< model name
  int cores = 0;       ///< that this process may use
  Bytes memory{};
  Bytes memory_available{};
  std::string governor;  ///< of frequency scaling, empty where there is none
  std::vector<NumaNode> nodes;
};

/// Reads uname, /proc and /sys; the roots are parameters for tests.
[[nodiscard]] MachineFacts machine_facts(const std::string& proc = "/proc", const std::string& sys = "/sys");

}  // namespace fulcrum
