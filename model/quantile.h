// Quantiles: of the standard normal, of Student's t, and of a handful of numbers.
#pragma once

#include <vector>

namespace fulcrum {

/// P(Z <= z) for a standard normal Z.
[[nodiscard]] double normal_cdf(double z);
/// z with P(Z <= z) = p, for 0 < p < 1, to 1e-12 (bisection on normal_cdf; about a microsecond).
[[nodiscard]] double normal_quantile(double p);
/// How much wider a 95 % interval is for a deviation estimated from `degrees` of freedom than for a known
/// one: t(0.975, degrees) / z(0.975). degrees >= 1.
[[nodiscard]] double student_widening(int degrees);
/// Quantile of `values`, the k-th smallest of n standing for k/(n + 1), with straight lines between: the
/// share of bootstrap draws beyond it is then right for few draws too. Sorts a copy. Not empty.
[[nodiscard]] double sample_quantile(std::vector<double> values, double p);

}  // namespace fulcrum
