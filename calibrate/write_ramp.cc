#include "calibrate/write_ramp.h"

#include <algorithm>
#include <span>

#include "calibrate/stats.h"
#include "calibrate/steady_state.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kBurstStep = 0.15;
constexpr double kWriteTarget = 0.10;
constexpr std::size_t kLeastPieces = 6;
constexpr std::size_t kLastPieces = 8;
constexpr std::int64_t kPartOfCache = 8;
constexpr double kRecovered = 0.90;

}  // namespace

std::optional<RampFit> fit_ramp(const Samples& samples, std::uint64_t seed) {
  const auto rates = samples.values(CellKind::ramp);
  if (rates.size() < kLeastPieces) return std::nullopt;
  Bytes piece{};
  for (const Sample& sample : samples.all()) {
    if (sample.cell.kind == CellKind::ramp) piece = sample.run.bytes;
  }
  const std::span<const double> all(rates);
  const auto change = find_change(all, kBurstStep, seed);
  RampFit fit;
  fit.fell = change && change->after < change->before;
  const std::size_t end = fit.fell ? change->index : rates.size();
  const auto tail = fit.fell ? all.subspan(end) : all;
  fit.found.burst = measure<BytesPerSecond>(all.first(end), kWriteTarget);
  fit.found.sustained = measure<BytesPerSecond>(tail, kWriteTarget);
  fit.found.burst_bytes = piece * static_cast<std::int64_t>(end);
  fit.steady = steadiness(tail.last(std::min(tail.size(), kLastPieces))).steady;
  return fit;
}

Bytes short_burst(const Sustained& ramp, Bytes unit, Bytes most) {
  const Bytes wish = std::min(ramp.burst_bytes / kPartOfCache, most);
  return std::max(wish / unit.value() * unit.value(), unit);
}

bool recovered(BytesPerSecond rate, const Sustained& ramp) {
  return rate >= ramp.burst.value * kRecovered;
}

std::optional<Recovery> fit_recovery(std::span<const RestedBurst> rested, const Sustained& ramp) {
  Seconds too_short{};
  for (const RestedBurst& burst : rested) {
    if (recovered(burst.rate, ramp)) {
      return Recovery{burst.bytes,
                      {burst.rest, too_short, burst.rest, static_cast<int>(rested.size()), Verdict::good}};
    }
    too_short = burst.rest;
  }
  return std::nullopt;
}

}  // namespace fulcrum::calibrate
