#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/line_chart.h"
#include "replay/report.h"

namespace fulcrum::replay {
namespace {

constexpr double kLeast = 1e-3;  ///< seconds: the axis shows nothing shorter
constexpr int kPoints = 400;

ChartAxis seconds_over(std::span<const PolicyReport> policies) {
  double least = 1;
  double most = kLeast;
  for (const PolicyReport& policy : policies) {
    if (policy.ttfts.empty()) continue;
    least = std::min(least, policy.ttfts.front());
    most = std::max(most, policy.ttfts.back());
  }
  ChartAxis axis;
  axis.title = "time to first token";
  axis.logarithmic = true;
  const int first = static_cast<int>(std::floor(std::log10(std::max(least, kLeast))));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(most))));
  for (int decade = first; decade <= last; ++decade) axis.marks.push_back(std::pow(10.0, decade));
  axis.low = axis.marks.front();
  axis.high = axis.marks.back();
  axis.label = [](double seconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g s", seconds);
    return std::string(text.data());
  };
  return axis;
}

ChartAxis shares() {
  ChartAxis axis;
  axis.title = "share of requests";
  axis.marks = {0, 0.25, 0.5, 0.75, 1};
  axis.label = [](double share) { return std::to_string(std::lround(share * 100)) + " %"; };
  return axis;
}

ChartCurve curve_of(const PolicyReport& policy, const char* colour) {
  ChartCurve curve{.name = policy.name, .colour = colour, .points = {}, .band = {}};
  if (policy.ttfts.empty()) return curve;
  for (int i = 0; i <= kPoints; ++i) {
    const double share = static_cast<double>(i) / kPoints;
    curve.points.emplace_back(quantile_of(policy.ttfts, share), share);
  }
  return curve;
}

}  // namespace

std::string ttft_chart(std::string_view title, std::span<const PolicyReport> policies) {
  static constexpr std::array<const char*, 6> kColours = {"#8a94a0", "#d1495b", "#edae49",
                                                          "#00798c", "#66a182", "#5f4b8b"};
  LineChart chart;
  chart.title = title;
  chart.x = seconds_over(policies);
  chart.y = shares();
  for (std::size_t i = 0; i < policies.size(); ++i) {
    chart.curves.push_back(curve_of(policies[i], kColours[i % kColours.size()]));
  }
  return chart.svg();
}

}  // namespace fulcrum::replay
