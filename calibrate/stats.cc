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

/// Two neighbouring pairs of order statistics: the k-th value from either end, which holds the median at
/// `rate`, and the next pair inside, which holds it less often than is claimed.
struct Pairs {
  std::size_t k = 1;
  double rate = 0;
  double inside = 0;
};

Pairs pairs_around_median(std::size_t n) {
  const auto total = static_cast<double>(n);
  double log_share = -total * std::log(2.0);  // of 0 heads among n coins; then of k heads
  Pairs pairs{.rate = 1 - 2 * std::exp(log_share)};
  for (;; ++pairs.k) {
    const auto heads = static_cast<double>(pairs.k);
    log_share += std::log((total - heads + 1) / heads);
    pairs.inside = pairs.rate - 2 * std::exp(log_share);
    if (pairs.inside < kRate) return pairs;
    pairs.rate = pairs.inside;
  }
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
  const Pairs pairs = pairs_around_median(n);
  const std::size_t k = pairs.k;
  const double inside = (pairs.rate - kRate) / (pairs.rate - pairs.inside);
  const auto outer = static_cast<double>(k);
  const auto inner = static_cast<double>(n - k);
  const double step = inner * inside / (outer + (inner - outer) * inside);
  return {sorted[k - 1] + step * (sorted[k] - sorted[k - 1]),
          sorted[n - k] - step * (sorted[n - k] - sorted[n - k - 1])};
}

double relative_half_width(double value, Interval<double> interval) {
  if (value == 0) return std::numeric_limits<double>::infinity();
  return (interval.high - interval.low) / 2 / std::fabs(value);
}

}  // namespace fulcrum::calibrate
