// From observations to a tier's numbers and their verdict. Pure and seeded.
#pragma once

#include <optional>

#include "calibrate/storage_probe.h"

namespace fulcrum::calibrate {

/// The cell of a surface that is enough: fewest bytes in flight among those within 3 % of the fastest, no
/// slower to answer than `latency_most`, and not above `in_flight_most`.
[[nodiscard]] std::optional<Cell> enough(const Samples& samples, CellKind kind, Seconds latency_most,
                                         Bytes in_flight_most);

/// Numbers, surfaces, findings and verdict. Name, medium and identity stay empty.
[[nodiscard]] TierProfile fit_tier(const Observations& seen, const ProbePlan& plan);

/// The `dram` tier from copies of `block` bytes: `load` cells by threads, and `setup` cells.
[[nodiscard]] TierProfile fit_memory(const Samples& samples, Bytes block, double target, std::uint64_t seed);

}  // namespace fulcrum::calibrate
