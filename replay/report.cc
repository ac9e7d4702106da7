#include "replay/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace fulcrum::replay {

double quantile_of(std::span<const double> sorted, double quantile) {
  FULCRUM_CHECK(!sorted.empty(), "a quantile needs a value");
  const auto rank = static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

namespace {

Distribution of_sorted(std::span<const double> sorted) {
  if (sorted.empty()) return {};
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  return {sum / static_cast<double>(sorted.size()), quantile_of(sorted, 0.5), quantile_of(sorted, 0.95),
          quantile_of(sorted, 0.99)};
}

}  // namespace

Distribution distribution(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return of_sorted(values);
}

PolicyReport summarise(std::string name, const SimulationResult& result, Seconds without_tiers) {
  PolicyReport report;
  report.name = std::move(name);
  std::vector<double> harms;
  std::int64_t prompt = 0;
  std::int64_t resident = 0;
  std::int64_t loaded = 0;
  for (const RequestRecord& record : result.requests) {
    report.ttfts.push_back(record.ttft().value());
    harms.push_back(record.harm());
    prompt += record.prompt.value();
    resident += record.resident.value();
    loaded += record.loaded.value();
    if (record.loaded > Tokens(0) || record.exposed > Seconds(0)) ++report.loads;
    if (record.harmful()) ++report.harmful_reads;
    if (record.gave_up) ++report.given_up;
  }
  std::sort(report.ttfts.begin(), report.ttfts.end());
  std::sort(harms.begin(), harms.end());
  report.ttft_s = of_sorted(report.ttfts);
  if (!harms.empty()) report.harm_p999 = quantile_of(harms, 0.999);
  if (prompt > 0) {
    report.resident_share = static_cast<double>(resident) / static_cast<double>(prompt);
    report.loaded_share = static_cast<double>(loaded) / static_cast<double>(prompt);
  }
  report.gpu_seconds = result.gpu.value();
  report.gpu_seconds_saved = (without_tiers - result.gpu).value();
  report.end_s = result.end.value();
  report.tiers = result.tiers;
  return report;
}

}  // namespace fulcrum::replay
