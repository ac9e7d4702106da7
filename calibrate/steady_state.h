// Is a series of rates steady, and where did it change? Pure functions on values in the order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fulcrum::calibrate {

/// The rule of the SNIA performance test specification: the window's range stays within 20 % of its mean,
/// and the fitted straight line moves by at most 10 % of it from end to end.
struct Steadiness {
  double range_share = 0;  ///< (max - min) / mean
  double drift_share = 0;  ///< rise of the fitted line over the window / mean; negative: falling
  bool steady = false;
};
[[nodiscard]] Steadiness steadiness(std::span<const double> window);

/// One step in a series: medians before and after `index`.
struct ChangePoint {
  std::size_t index = 0;  ///< first value of the new level
  double before = 0;
  double after = 0;
};

/// The most likely single step, if it is at least `least` (a share of the level before) and no accident:
/// fewer than 1 in 100 random orders of the same values show one as clear. Steps need 3 values on each side.
[[nodiscard]] std::optional<ChangePoint> find_change(std::span<const double> series, double least,
                                                     std::uint64_t seed);

}  // namespace fulcrum::calibrate
