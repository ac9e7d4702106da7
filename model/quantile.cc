#include "model/quantile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/check.h"

namespace fulcrum {

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

double normal_quantile(double p) {
  FULCRUM_CHECK(p > 0 && p < 1, "a quantile lies between 0 and 1");
  double low = -38;
  double high = 38;
  for (int i = 0; i < 46; ++i) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double student_widening(int degrees) {
  FULCRUM_CHECK(degrees >= 1, "an estimated deviation has at least one degree of freedom");
  constexpr double kZ = 1.959963984540054;
  if (degrees == 1) return std::tan(0.475 * std::numbers::pi) / kZ;
  if (degrees == 2) return 0.95 * std::sqrt(2 / (1 - 0.95 * 0.95)) / kZ;
  // Cornish-Fisher expansion of t in powers of 1/degrees; within 0.1 % from 3 degrees on.
  const double z2 = kZ * kZ;
  const double n = degrees;
  const double terms[] = {(z2 + 1) / 4, ((5 * z2 + 16) * z2 + 3) / 96,
                          (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
                          ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160};
  return 1 + terms[0] / n + terms[1] / (n * n) + terms[2] / (n * n * n) + terms[3] / (n * n * n * n);
}

double sample_quantile(std::vector<double> values, double p) {
  FULCRUM_CHECK(!values.empty() && p >= 0 && p <= 1, "a quantile of something");
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const double place = std::clamp(p * (n + 1) - 1, 0.0, n - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  // Equal neighbours may both be infinite-like sentinels; their difference must not enter.
  if (values[below] == values[above]) return values[below];
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace fulcrum
