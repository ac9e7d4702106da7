#include "calibrate/storage_fit.h"

#include <algorithm>
#include <cmath>

#include "base/document.h"
#include "calibrate/law_fit.h"
#include "calibrate/steady_state.h"
#include "fulcrum/cost.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kEnough = 0.97;
constexpr double kWriteTarget = 0.10;
constexpr double kSurfaceTarget = 0.10;
constexpr double kPredictionTarget = 0.15;
constexpr double kBurstStep = 0.15;
constexpr double kAfterLeast = 0.90;

void fit_ramp(const Samples& samples, const ProbePlan& plan, TierProfile& tier, Judgement& judgement) {
  const auto rates = samples.values(CellKind::ramp);
  if (rates.size() < 6) return;
  Bytes piece{};
  for (const Sample& sample : samples.all()) {
    if (sample.cell.kind == CellKind::ramp) piece = sample.run.bytes;
  }
  const std::span<const double> all(rates);
  const auto change = find_change(all, kBurstStep, plan.seed);
  const bool fell = change && change->after < change->before;
  const std::size_t end = fell ? change->index : rates.size();
  const auto tail = fell ? all.subspan(end) : all;
  Sustained ramp;
  ramp.burst = measure<BytesPerSecond>(all.first(end), kWriteTarget, plan.seed);
  ramp.sustained = measure<BytesPerSecond>(tail, kWriteTarget, plan.seed);
  ramp.burst_bytes = piece * static_cast<std::int64_t>(end);
  if (fell) {
    judgement.note("writes fall from " + format(ramp.burst.value) + " to " + format(ramp.sustained.value) +
                   " after " + format(ramp.burst_bytes));
  }
  if (!steadiness(tail.last(std::min<std::size_t>(tail.size(), 8))).steady)
    judgement.note("the long write never became steady");
  tier.write = ramp.sustained;
  tier.ramp = ramp;
}

void check_prediction(const Samples& samples, const TierProfile& tier, Judgement& judgement) {
  for (const Cell& cell : samples.cells(CellKind::whole)) {
    const double predicted = tier.transfer().time(cell.io_size).value();
    const double off = median(samples.values(cell)) / predicted - 1;
    if (std::fabs(off) <= kPredictionTarget) continue;
    judgement.note("whole loads of " + format(cell.io_size) + " took " + percent_text(std::fabs(off)) +
                   (off > 0 ? " longer" : " less") + " than set-up and rate predict");
  }
}

void note_runs(const Samples& samples, Judgement& judgement) {
  const auto runs = fit_sizes(samples, CellKind::run_length);
  if (!runs) return;
  judgement.note("runs of " + format(runs->size_for(0.9)) + " reach 90 % of the sequential rate of " +
                 format(runs->sequential) + ", in the zone where the scratch file landed");
}

void note_after(const Samples& samples, const TierProfile& tier, Judgement& judgement) {
  const double share = median(samples.values(CellKind::after)) / tier.read.value.value();
  if (share > 0 && share < kAfterLeast)
    judgement.note("right after writes, reads run at " + percent_text(share) + " of their idle rate");
}

std::vector<SurfacePoint> surface_of(const Samples& samples, std::initializer_list<CellKind> kinds,
                                     std::uint64_t seed) {
  std::vector<SurfacePoint> points;
  for (const CellKind kind : kinds) {
    for (const Cell& cell : samples.cells(kind)) {
      std::vector<double> p50;
      std::vector<double> p99;
      for (const Sample& sample : samples.all()) {
        if (!(sample.cell == cell)) continue;
        p50.push_back(sample.run.latency_p50.value());
        p99.push_back(sample.run.latency_p99.value());
      }
      points.push_back({cell.io_size, cell.depth, cell.loads,
                        measure<BytesPerSecond>(samples.values(cell), kSurfaceTarget, seed),
                        Seconds(median(p50)), Seconds(median(p99))});
    }
  }
  return points;
}

double busiest(const Samples& samples) {
  double most = 0;
  for (const Cell& cell : samples.cells(CellKind::load)) {
    std::vector<double> shares;
    for (const Sample& sample : samples.all()) {
      if (sample.cell == cell) shares.push_back(sample.run.cpu_share);
    }
    most = std::max(most, median(shares));
  }
  return most;
}

}  // namespace

std::optional<Cell> enough(const Samples& samples, CellKind kind, Seconds latency_most,
                           Bytes in_flight_most) {
  const auto cells = samples.cells(kind);
  const auto usable = [&](const Cell& cell) {
    std::vector<double> latencies;
    for (const Sample& sample : samples.all()) {
      if (sample.cell == cell) latencies.push_back(sample.run.latency_p50.value());
    }
    return cell.io_size * cell.depth <= in_flight_most && Seconds(median(latencies)) <= latency_most;
  };
  std::optional<Cell> chosen;
  double best = 0;
  for (const Cell& cell : cells) {
    if (usable(cell)) best = std::max(best, median(samples.values(cell)));
  }
  for (const Cell& cell : cells) {
    if (!usable(cell) || median(samples.values(cell)) < kEnough * best) continue;
    if (!chosen || cell.io_size * cell.depth < chosen->io_size * chosen->depth) chosen = cell;
  }
  return chosen;
}

TierProfile fit_tier(const Observations& seen, const ProbePlan& plan) {
  const Samples& samples = seen.samples;
  TierProfile tier;
  Judgement judgement;
  fit_reads(samples, seen.point, plan.target, plan.seed, tier, judgement);
  fit_concurrency(samples, plan.seed, tier, judgement);
  fit_writes(samples, enough(samples, CellKind::write, plan.latency_most, plan.arena), plan.seed, tier,
             judgement);
  fit_beside(samples, plan.seed, tier);
  fit_ramp(samples, plan, tier, judgement);
  check_prediction(samples, tier, judgement);
  note_runs(samples, judgement);
  note_after(samples, tier, judgement);
  check_data(seen.wrong_sectors, judgement);
  check_medium(seen.proof, seen.mode, judgement);
  check_again(samples.values(CellKind::first_read), samples.values(CellKind::again), plan.seed, judgement);
  check_processor(busiest(samples), judgement);
  check_drift(samples.values(CellKind::reference), plan.seed, judgement);
  if (seen.budget_spent) judgement.note("some writes were left out to stay inside the budget");
  tier.reads = surface_of(samples, {CellKind::surface, CellKind::load}, plan.seed);
  tier.writes = surface_of(samples, {CellKind::write}, plan.seed);
  tier.verdict = judgement.verdict;
  tier.findings = std::move(judgement.findings);
  return tier;
}

TierProfile fit_memory(const Samples& samples, Bytes block, double target, std::uint64_t seed) {
  TierProfile tier;
  tier.name = "dram";
  tier.medium = Medium::dram;
  Judgement judgement;
  fit_reads(samples, {CellKind::load, block, 1, 1}, target, seed, tier, judgement);
  fit_concurrency(samples, seed, tier, judgement);
  // A copy both reads and writes, so one rate says both; a write is there once it is copied.
  tier.write = tier.read;
  tier.commit_half = {Bytes(0), Bytes(0), Bytes(0), tier.read.samples, tier.read.verdict};
  const ContentionLaw law = tier.transfer().contention;
  const double beside = law.throughput(2) / law.throughput(1) / 2;
  tier.read_during_writes = {beside, beside, beside, tier.sigma.samples, tier.sigma.verdict};
  tier.reads = surface_of(samples, {CellKind::load}, seed);
  tier.verdict = judgement.verdict;
  tier.findings = std::move(judgement.findings);
  return tier;
}

}  // namespace fulcrum::calibrate
