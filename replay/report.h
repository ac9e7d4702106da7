// Report: what a policy was worth on a trace, in the figures that people and programs read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fulcrum/units.h"
#include "replay/simulation.h"

namespace fulcrum::replay {

struct Distribution {
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
};

/// Nearest-rank quantile of a sorted, non-empty list.
[[nodiscard]] double quantile_of(std::span<const double> sorted, double quantile);
[[nodiscard]] Distribution distribution(std::vector<double> values);

struct PolicyReport {
  std::string name;
  Distribution ttft_s;
  double gpu_seconds = 0;
  double gpu_seconds_saved = 0;     ///< against serving without any tier
  double resident_share = 0;        ///< of all prompt tokens, found in the GPU cache
  double loaded_share = 0;          ///< of all prompt tokens, read from a tier
  std::uint64_t loads = 0;          ///< requests that waited for a load or were given preloaded blocks
  std::uint64_t harmful_reads = 0;  ///< of these, waited longer than the computation replaced
  std::uint64_t given_up = 0;       ///< of these, ended by the stop-loss
  double harm_p999 = 1;             ///< 99.9 % of requests had (exposed + compute) / compute-all up to this
  double end_s = 0;                 ///< last first token
  std::vector<TierTotals> tiers;
  std::vector<double> ttfts;  ///< sorted; for charts

  [[nodiscard]] double harmful_share() const {
    return loads > 0 ? static_cast<double>(harmful_reads) / static_cast<double>(loads) : 0;
  }
};

/// `without_tiers`: GPU time of the same trace and options under Strategy::none.
[[nodiscard]] PolicyReport summarise(std::string name, const SimulationResult& result, Seconds without_tiers);

/// What stands above the policies in the JSON report.
struct ReportHead {
  std::string trace;
  std::string profile;
  std::size_t requests = 0;
  std::size_t skipped_lines = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t block_tokens = 0;
  SimulationOptions options;
};

/// The whole report as JSON text (docs/replay.md). Equal reports give equal text.
[[nodiscard]] std::string report_json(const ReportHead& head, std::span<const PolicyReport> policies);

/// Chart of the distributions of TTFT, one curve a policy, as SVG text.
[[nodiscard]] std::string ttft_chart(std::string_view title, std::span<const PolicyReport> policies);

}  // namespace fulcrum::replay
