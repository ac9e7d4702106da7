#include "cli/break_even_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/document.h"
#include "base/line_chart.h"
#include "fulcrum/cost.h"

namespace fulcrum::cli {
namespace {

constexpr std::int64_t kShortest = 256;
constexpr std::int64_t kLongest = 131'072;
constexpr int kPointsPerOctave = 4;

std::vector<Tokens> lengths() {
  std::vector<Tokens> found;
  const int octaves = static_cast<int>(std::log2(kLongest / kShortest));
  for (int i = 0; i <= octaves * kPointsPerOctave; ++i) {
    found.emplace_back(
        std::llround(static_cast<double>(kShortest) * std::exp2(static_cast<double>(i) / kPointsPerOctave)));
  }
  return found;
}

Bytes kv_bytes(const PrefillProfile& prefill, Tokens prefix) {
  return prefix * prefill.kv_bytes_per_token + prefill.kv_bytes_fixed;
}

ChartCurve compute_curve(const PrefillProfile& prefill) {
  ChartCurve curve{.name = "recompute", .colour = "#1d252c", .points = {}, .band = {}};
  for (const Tokens n : lengths()) {
    const double x = static_cast<double>(n.value());
    curve.points.emplace_back(x, prefill.cost.law.between(Tokens(0), n).value());
    curve.band.emplace_back(prefill.cost.between_quantile(Tokens(0), n, 0.025).value(),
                            prefill.cost.between_quantile(Tokens(0), n, 0.975).value());
  }
  return curve;
}

ChartCurve load_curve(const PrefillProfile& prefill, const TierProfile& tier, const char* colour) {
  ChartCurve curve{.name = "load from " + tier.name, .colour = colour, .points = {}, .band = {}};
  for (const Tokens n : lengths()) {
    const double fast = tier.setup.low.value() + (kv_bytes(prefill, n) / tier.read.high).value();
    const double slow = tier.setup.high.value() + (kv_bytes(prefill, n) / tier.read.low).value();
    curve.points.emplace_back(static_cast<double>(n.value()),
                              tier.transfer().time(kv_bytes(prefill, n)).value());
    curve.band.emplace_back(fast, slow);
  }
  return curve;
}

ChartAxis decades(std::string title, double low, double high, std::function<std::string(double)> label) {
  ChartAxis axis{.title = std::move(title),
                 .low = low,
                 .high = high,
                 .logarithmic = true,
                 .marks = {},
                 .label = std::move(label)};
  const auto last = std::lround(std::log10(high));
  for (auto decade = std::lround(std::log10(low)); decade <= last; ++decade) {
    axis.marks.push_back(std::pow(10.0, static_cast<double>(decade)));
  }
  return axis;
}

}  // namespace

std::string break_even_chart(const MachineProfile& profile) {
  static constexpr std::array<const char*, 5> kColours = {"#00798c", "#d1495b", "#edae49", "#66a182",
                                                          "#5f4b8b"};
  const PrefillProfile& prefill = *profile.prefill;
  LineChart chart;
  chart.title = prefill.model + " on " + prefill.gpu + ": read a prefix back, or compute it again?";
  chart.curves.push_back(compute_curve(prefill));
  for (std::size_t i = 0; i < profile.tiers.size(); ++i) {
    chart.curves.push_back(load_curve(prefill, profile.tiers[i], kColours[i % kColours.size()]));
  }
  double least = 1;
  double most = 1e-3;
  for (const ChartCurve& curve : chart.curves) {
    least = std::min(least, curve.points.front().second);
    most = std::max(most, curve.points.back().second);
  }
  chart.y = decades("seconds", std::pow(10, std::floor(std::log10(std::max(least, 1e-5)))),
                    std::pow(10, std::ceil(std::log10(most))), [](double v) { return format(Seconds(v)); });
  chart.x = decades("tokens of prefix", kShortest, kLongest,
                    [](double v) { return format(Tokens(std::llround(v))); });
  chart.x.marks = {256, 1024, 4096, 16'384, 65'536, 131'072};

  for (const TierProfile& tier : profile.tiers) {
    const PrefillLaw& law = prefill.cost.law;
    const double per_token = prefill.kv_bytes_per_token.value() / tier.read.value.value();
    const Tokens least_prefix = break_even_prefix(law.alpha(), law.beta(), per_token, tier.setup.value);
    if (least_prefix.value() <= kShortest || least_prefix.value() >= kLongest) continue;
    chart.notes.push_back({.x = static_cast<double>(least_prefix.value()),
                           .y = law.between(Tokens(0), least_prefix).value(),
                           .text = tier.name + " pays from " + format(least_prefix) + " tokens"});
  }
  return chart.svg();
}

}  // namespace fulcrum::cli
