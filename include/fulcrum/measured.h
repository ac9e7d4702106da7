// Measured<T>: a number that knows how well it is known. Nothing calibrated is ever a bare number.
#pragma once

#include <string_view>

#include "fulcrum/units.h"

namespace fulcrum {

/// A closed range. `low <= high`.
template <class T>
struct Interval {
  T low{};
  T high{};

  [[nodiscard]] constexpr bool contains(T x) const { return low <= x && x <= high; }
  bool operator==(const Interval&) const = default;
};

/// How far a measurement can be trusted, from best to worst. The policy widens what is not `good`.
enum class Verdict {
  good,       ///< steady, and shown to come from the device
  noisy,      ///< the interval did not become narrow enough in the time given
  cpu_bound,  ///< the submitting thread was the limit: a lower bound
  throttled,  ///< the device slowed down during the measurement
  estimated,  ///< from a data sheet or a model, not measured here
  cached,     ///< answered by a page cache or a device cache, not by the medium
  invalid,    ///< not usable
};

[[nodiscard]] std::string_view to_string(Verdict verdict);

/// A value with its 95 % interval, the number of independent samples behind it, and a verdict.
template <class T>
struct Measured {
  T value{};
  T low{};
  T high{};
  int samples = 0;
  Verdict verdict = Verdict::invalid;

  [[nodiscard]] constexpr Interval<T> interval() const { return {low, high}; }
  bool operator==(const Measured&) const = default;

  /// A value taken as exact, e.g. from a data sheet or a test.
  static constexpr Measured exact(T x, Verdict v = Verdict::estimated) { return {x, x, x, 1, v}; }
};

}  // namespace fulcrum
