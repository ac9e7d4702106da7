// Statistics of repeated measurements: medians, and intervals of them and of what is made of them. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fulcrum/measured.h"

namespace fulcrum::calibrate {

/// Quantile q (0..1) by linear interpolation; 0 for no values.
[[nodiscard]] double quantile(std::span<const double> values, double q);
[[nodiscard]] double median(std::span<const double> values);

/// Values of independent groups, for instance one group for each level of concurrency.
using Groups = std::vector<std::vector<double>>;

/// 95 % intervals of the statistics that `estimate` makes of the groups: percentile bootstrap, each group
/// resampled within itself. `estimate` may return an empty vector for a draw that it cannot use.
[[nodiscard]] std::vector<Interval<double>> bootstrap(
    const Groups& groups, const std::function<std::vector<double>(const Groups&)>& estimate,
    std::uint64_t seed, int draws = 400);

/// 95 % interval of the median, of whatever distribution: between two order statistics, chosen by the
/// binomial law and interpolated to the exact rate (Hettmansperger and Sheather 1986). A bootstrap of the
/// median of 10 values claims 95 % and holds 92 %. Fewer than 6 values cannot reach 95 %: their whole range
/// is the interval, which holds the median with probability 1 - 2^(1-n).
[[nodiscard]] Interval<double> median_interval(std::span<const double> values);

/// Half the width of an interval as a share of the value; infinite for a value of 0.
[[nodiscard]] double relative_half_width(double value, Interval<double> interval);

/// Median with interval, as a quantity T. The verdict is `good`, or `noisy` where the half width is above
/// `target`; `invalid` without values.
template <class T>
[[nodiscard]] Measured<T> measure(std::span<const double> values, double target) {
  if (values.empty()) return {};
  const double middle = median(values);
  const Interval<double> range = median_interval(values);
  const bool narrow = relative_half_width(middle, range) <= target;
  using Rep = typename T::rep;
  return {T(static_cast<Rep>(middle)), T(static_cast<Rep>(range.low)), T(static_cast<Rep>(range.high)),
          static_cast<int>(values.size()), narrow ? Verdict::good : Verdict::noisy};
}

}  // namespace fulcrum::calibrate
