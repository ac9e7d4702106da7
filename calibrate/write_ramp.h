// What a long write showed: the step from burst to sustained rate, and how long the cache takes to recover.
// Pure and seeded.
#pragma once

#include <optional>

#include "calibrate/storage_probe.h"

namespace fulcrum::calibrate {

/// Burst and sustained rate, the recovery included where bursts after rests were taken; empty where the ramp
/// is too short to say. The rate fell where `sustained` is the lower one by a clear step.
struct RampFit {
  Sustained found;
  bool fell = false;
  bool steady = false;  ///< at its end
};
[[nodiscard]] std::optional<RampFit> fit_ramp(const Samples& samples, std::uint64_t seed);

/// The write that asks a rested cache whether it is ready: an eighth of what it took at first, in whole
/// blocks of `unit`, and at most `most`.
[[nodiscard]] Bytes short_burst(const Sustained& ramp, Bytes unit, Bytes most);
/// A burst is at its old rate again.
[[nodiscard]] bool recovered(BytesPerSecond rate, const Sustained& ramp);
/// Nothing where no burst was at its old rate again.
[[nodiscard]] std::optional<Recovery> fit_recovery(std::span<const RestedBurst> rested,
                                                   const Sustained& ramp);

}  // namespace fulcrum::calibrate
