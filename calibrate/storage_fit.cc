#include "calibrate/storage_fit.h"

#include <algorithm>
#include <cmath>

#include "base/document.h"
#include "calibrate/law_fit.h"
#include "calibrate/write_ramp.h"
#include "fulcrum/cost.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kEnough = 0.97;
constexpr double kSurfaceTarget = 0.10;
constexpr double kPredictionTarget = 0.15;
constexpr double kAfterLeast = 0.90;

void fit_long_write(const Observations& seen, const ProbePlan& plan, TierProfile& tier,
                    Judgement& judgement) {
  const auto fit = fit_ramp(seen.samples, plan.seed);
  if (!fit) return;
  Sustained ramp = fit->found;
  if (fit->fell) {
    judgement.note("writes fall from " + format(ramp.burst.value) + " to " + format(ramp.sustained.value) +
                   " after " + format(ramp.burst_bytes));
  }
  if (!fit->steady) judgement.note("the long write never became steady");
  ramp.recovery = fit_recovery(seen.rested, ramp);
  if (!ramp.recovery && !seen.rested.empty()) {
    judgement.note("the write cache had not recovered after a rest of " + format(seen.rested.back().rest));
  }
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

std::vector<SurfacePoint> surface_of(const Samples& samples, std::initializer_list<CellKind> kinds) {
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
                        measure<BytesPerSecond>(samples.values(cell), kSurfaceTarget), Seconds(median(p50)),
                        Seconds(median(p99))});
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
  fit_reads(samples, seen.point, plan.target, tier, judgement);
  fit_concurrency(samples, plan.seed, tier, judgement);
  fit_writes(samples, enough(samples, CellKind::write, plan.latency_most, plan.arena), plan.seed, tier,
             judgement);
  fit_beside(samples, plan.seed, tier);
  fit_long_write(seen, plan, tier, judgement);
  check_prediction(samples, tier, judgement);
  note_runs(samples, judgement);
  note_after(samples, tier, judgement);
  check_data(seen.wrong_sectors, judgement);
  check_medium(seen.proof, seen.mode, judgement);
  check_again(samples.values(CellKind::first_read), samples.values(CellKind::again), judgement);
  check_processor(busiest(samples), judgement);
  check_heat(seen.heat, judgement);
  check_drift(samples.values(CellKind::reference), plan.seed, judgement);
  if (seen.budget_spent) judgement.note("some writes were left out to stay inside the budget");
  tier.reads = surface_of(samples, {CellKind::surface, CellKind::load});
  tier.writes = surface_of(samples, {CellKind::write});
  tier.heat = seen.heat;
  tier.verdict = judgement.verdict;
  tier.findings = std::move(judgement.findings);
  return tier;
}

TierProfile fit_memory(const Samples& samples, Bytes block, double target, std::uint64_t seed) {
  TierProfile tier;
  tier.name = "dram";
  tier.medium = Medium::dram;
  Judgement judgement;
  fit_reads(samples, {CellKind::load, block, 1, 1}, target, tier, judgement);
  fit_concurrency(samples, seed, tier, judgement);
  // A copy both reads and writes, so one rate says both; a write is there once it is copied.
  tier.write = tier.read;
  tier.commit_half = {Bytes(0), Bytes(0), Bytes(0), tier.read.samples, tier.read.verdict};
  const ContentionLaw law = tier.transfer().contention;
  const double beside = law.throughput(2) / law.throughput(1) / 2;
  tier.read_during_writes = {beside, beside, beside, tier.sigma.samples, tier.sigma.verdict};
  tier.reads = surface_of(samples, {CellKind::load});
  tier.verdict = judgement.verdict;
  tier.findings = std::move(judgement.findings);
  return tier;
}

}  // namespace fulcrum::calibrate
