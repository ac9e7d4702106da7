#include "calibrate/steady_state.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "calibrate/stats.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kRangeLimit = 0.20;
constexpr double kDriftLimit = 0.10;
constexpr std::size_t kSide = 3;
constexpr int kOrders = 200;

struct Split {
  std::size_t index = 0;
  double clearness = 0;  // between-group sum of squares
};

Split best_split(std::span<const double> series) {
  const double all = std::accumulate(series.begin(), series.end(), 0.0);
  const auto n = static_cast<double>(series.size());
  Split best;
  double left = 0;
  for (std::size_t i = 0; i + kSide < series.size(); ++i) {
    left += series[i];
    if (i + 1 < kSide) continue;
    const auto before = static_cast<double>(i + 1);
    const double gap = left / before - (all - left) / (n - before);
    const double clearness = gap * gap * before * (n - before) / n;
    if (clearness > best.clearness) best = {i + 1, clearness};
  }
  return best;
}

}  // namespace

Steadiness steadiness(std::span<const double> window) {
  if (window.size() < 2) return {};
  const auto n = static_cast<double>(window.size());
  const double mean = std::accumulate(window.begin(), window.end(), 0.0) / n;
  const auto [low, high] = std::minmax_element(window.begin(), window.end());
  double along = 0;
  double squares = 0;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const double x = static_cast<double>(i) - (n - 1) / 2;
    along += x * window[i];
    squares += x * x;
  }
  Steadiness found;
  found.range_share = (*high - *low) / mean;
  found.drift_share = along / squares * (n - 1) / mean;
  found.steady = found.range_share <= kRangeLimit && std::fabs(found.drift_share) <= kDriftLimit;
  return found;
}

std::optional<ChangePoint> find_change(std::span<const double> series, double least, std::uint64_t seed) {
  if (series.size() < 2 * kSide) return std::nullopt;
  const Split split = best_split(series);
  if (split.index == 0) return std::nullopt;
  const ChangePoint change{split.index, median(series.first(split.index)),
                           median(series.subspan(split.index))};
  if (std::fabs(change.after - change.before) < least * std::fabs(change.before)) return std::nullopt;

  Random random = Random(seed).split("orders");
  std::vector<double> shuffled(series.begin(), series.end());
  int as_clear = 0;
  for (int order = 0; order < kOrders; ++order) {
    for (std::size_t i = shuffled.size() - 1; i > 0; --i)
      std::swap(shuffled[i], shuffled[random.below(i + 1)]);
    if (best_split(shuffled).clearness >= split.clearness * (1 - 1e-12)) ++as_clear;
  }
  if (as_clear * 100 >= kOrders) return std::nullopt;
  return change;
}

}  // namespace fulcrum::calibrate
