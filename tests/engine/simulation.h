// A host's traffic over a SimMachine whose devices fail by the seed, and the laws that hold all the time.
//
// Sessions grow by a turn at a time; some share their front. Each turn hints, loads, looks at every byte that
// it gets, and stores. The content of a block follows from its key, so that what is read back is right or
// wrong whatever has happened in between. Faults come at random times to one device at a time, or to the
// machine: errors, full and read-only disks, stalls, slowness, bytes changed behind the engine's back, power
// failures, kills, restarts. They stop some time before the end; then all must be well again.
//
// The same options give the same run: `hash` covers every event. What breaks a law is told with its time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/sim_machine.h"

namespace fulcrum::test {

struct SimulationOptions {
  std::uint64_t seed = 1;
  Seconds length{3600};
  Seconds fault_every{25};  ///< on average; 0: no faults
  Seconds think{50};        ///< between two turns of a session, on average
  std::size_t sessions = 20;
  SimMachineOptions machine{};
  bool keeps_a_row = false;  ///< mutant: the host never lets go of one load
};

struct SimulationReport {
  std::vector<std::string> broken;  ///< laws, the first few
  std::uint64_t hash = 0;
  std::uint64_t loads = 0;
  std::uint64_t stopped = 0;
  std::uint64_t blocks_right = 0;
  std::uint64_t blocks_from_files = 0;
  std::uint64_t stores = 0;
  std::uint64_t faults = 0;
  std::uint64_t starts = 0;
  std::vector<std::string> kinds;  ///< of the faults that came, each once
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] SimulationReport simulate(const SimulationOptions& options);

}  // namespace fulcrum::test
