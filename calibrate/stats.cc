#include "calibrate/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kTail = 0.025;
constexpr std::size_t kFewValues = 6;
constexpr double kRate = 0.95;

/// P(B = k) for B of n fair coins.
double coin_share(std::size_t n, std::size_t k) {
  const auto total = static_cast<double>(n);
  const auto heads = static_cast<double>(k);
  return std::exp(std::lgamma(total + 1) - std::lgamma(heads + 1) - std::lgamma(total - heads + 1) -
                  total * std::log(2.0));
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::span<const double> values) {
  return quantile(values, 0.5);
}

std::vector<Interval<double>> bootstrap(const Groups& groups,
                                        const std::function<std::vector<double>(const Groups&)>& estimate,
                                        std::uint64_t seed, int draws) {
  Random random = Random(seed).split("bootstrap");
  std::vector<std::vector<double>> by_statistic;
  Groups resampled = groups;
  for (int draw = 0; draw < draws; ++draw) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (double& value : resampled[g]) value = groups[g][random.below(groups[g].size())];
    }
    const std::vector<double> statistics = estimate(resampled);
    if (statistics.empty()) continue;
    by_statistic.resize(statistics.size());
    for (std::size_t i = 0; i < statistics.size(); ++i) by_statistic[i].push_back(statistics[i]);
  }
  std::vector<Interval<double>> intervals;
  intervals.reserve(by_statistic.size());
  for (const auto& values : by_statistic)
    intervals.push_back({quantile(values, kTail), quantile(values, 1 - kTail)});
  return intervals;
}

Interval<double> median_interval(std::span<const double> values) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  if (n < kFewValues) return {sorted.front(), sorted.back()};
  // The k-th value from either end: the widest pair that still holds the median often enough, and the next
  // one inside, which does not.
  std::size_t k = 1;
  double rate = 1 - 2 * coin_share(n, 0);
  double next = rate - 2 * coin_share(n, 1);
  for (; next >= kRate; ++k, rate = next, next -= 2 * coin_share(n, k)) {
  }
  const double inside = (rate - kRate) / (rate - next);
  const auto from_end = static_cast<double>(k);
  const auto beyond = static_cast<double>(n - k);
  const double step = beyond * inside / (from_end + (beyond - from_end) * inside);
  return {sorted[k - 1] + step * (sorted[k] - sorted[k - 1]),
          sorted[n - k] - step * (sorted[n - k] - sorted[n - k - 1])};
}

double relative_half_width(double value, Interval<double> interval) {
  if (value == 0) return std::numeric_limits<double>::infinity();
  return (interval.high - interval.low) / 2 / std::fabs(value);
}

}  // namespace fulcrum::calibrate
