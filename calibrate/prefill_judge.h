// What a probe's timings are worth: which of them to fit, and what a reader should know about the server.
// Pure: no clock, no server.
#pragma once

#include <span>
#include <vector>

#include "calibrate/prefill_source.h"

namespace fulcrum::calibrate {

/// All timings of one wanted shape.
struct ShapeTimings {
  PrefillShape wanted;
  std::vector<PrefillSample> timings;
  bool cache_reported = false;  ///< the server said how many tokens it found cached
};

/// Fills samples, points, findings and verdict of `report`.
///   - a timing above kNearMinimum times its shape's minimum waited for something: not fitted; a shape whose
///     median is above it makes the server busy (verdict noisy)
///   - cold times that do not grow with length, or cold prompts with cached tokens: verdict cached
///   - warm times that look like the whole prompt's cold time: no prefix cache; not fitted
void judge_timings(std::span<const ShapeTimings> shapes, PrefillServerReport& report);

inline constexpr double kNearMinimum = 1.25;
inline constexpr double kGrowthLeast = 1.5;  ///< over a length ratio of 4 or more
inline constexpr double kWarmShare = 0.7;    ///< of the cold time: at least this is no cache hit

}  // namespace fulcrum::calibrate
