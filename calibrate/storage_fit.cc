#include "calibrate/storage_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/document.h"
#include "calibrate/steady_state.h"
#include "fulcrum/cost.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kEnough = 0.97;
constexpr double kSetupTarget = 0.10;
constexpr double kWriteTarget = 0.10;
constexpr double kSurfaceTarget = 0.10;
constexpr double kLawTarget = 0.10;  // residual of a fitted law
constexpr double kPredictionTarget = 0.15;
constexpr double kDurableLeast = 0.85;
constexpr double kBurstStep = 0.15;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

template <class T>
Measured<T> with_interval(T value, Interval<double> interval, int samples, Verdict verdict) {
  using Rep = typename T::rep;
  return {value, std::min(value, T(static_cast<Rep>(interval.low))),
          std::max(value, T(static_cast<Rep>(interval.high))), samples, verdict};
}

/// One group of values for each cell of a kind.
struct Levels {
  std::vector<Cell> cells;
  Groups groups;
  int samples = 0;
};

Levels levels_of(const Samples& samples, CellKind kind) {
  Levels levels;
  levels.cells = samples.cells(kind);
  for (const Cell& cell : levels.cells) {
    levels.groups.push_back(samples.values(cell));
    levels.samples += static_cast<int>(levels.groups.back().size());
  }
  return levels;
}

std::vector<double> contention_of(const std::vector<Cell>& cells, const Groups& groups) {
  std::vector<ThroughputSample> points;
  for (std::size_t i = 0; i < cells.size(); ++i)
    points.push_back({cells[i].loads, BytesPerSecond(median(groups[i]))});
  const auto law = fit_contention(points);
  if (law.has_error()) return {};
  return {law->single.value(), law->sigma, law->k};
}

std::vector<double> commit_of(const std::vector<Cell>& cells, const Groups& groups) {
  std::vector<CommitSample> points;
  for (std::size_t i = 0; i < cells.size(); ++i)
    points.push_back({cells[i].io_size, BytesPerSecond(median(groups[i]))});
  const auto law = fit_commit(points);
  if (law.has_error()) return {};
  return {law->sequential.value(), static_cast<double>(law->half.value())};
}

void fit_reads(const Samples& samples, const ProbePlan& plan, const Cell& point, TierProfile& tier,
               Judgement& judgement) {
  tier.io_size = point.io_size;
  tier.depth = point.depth;
  tier.read = measure<BytesPerSecond>(samples.values(Cell{CellKind::load, point.io_size, point.depth, 1}),
                                      plan.target, plan.seed);
  check_narrow("the read rate of one load", tier.read.value.value(),
               {tier.read.low.value(), tier.read.high.value()}, plan.target, judgement);
  tier.setup = measure<Seconds>(samples.values(CellKind::setup), kSetupTarget, plan.seed);
  check_narrow("the set-up latency", tier.setup.value.value(),
               {tier.setup.low.value(), tier.setup.high.value()}, kSetupTarget, judgement);
}

void fit_concurrency(const Samples& samples, const ProbePlan& plan, TierProfile& tier, Judgement& judgement) {
  const Levels levels = levels_of(samples, CellKind::load);
  const auto law = contention_of(levels.cells, levels.groups);
  if (law.empty()) {
    judgement.note("too few levels of concurrency to fit how loads share the device");
    return;
  }
  const auto intervals = bootstrap(
      levels.groups, [&](const Groups& groups) { return contention_of(levels.cells, groups); }, plan.seed);
  const ContentionLaw fitted{BytesPerSecond(law[0]), law[1], law[2]};
  double worst = 0;
  for (std::size_t i = 0; i < levels.cells.size(); ++i) {
    const double ratio = median(levels.groups[i]) / fitted.throughput(levels.cells[i].loads).value();
    worst = std::max(worst, std::fabs(ratio - 1));
  }
  const Verdict verdict = worst <= kLawTarget ? Verdict::good : Verdict::noisy;
  if (verdict != Verdict::good) {
    judgement.note("the contention law is up to " + percent(worst) +
                   " off the measured rates: loads share this device in another way");
  }
  const auto share = [&](std::size_t i) {
    return Measured<double>{law[i], std::min(law[i], intervals[i].low), std::max(law[i], intervals[i].high),
                            levels.samples, verdict};
  };
  tier.sigma = share(1);
  tier.k = share(2);
}

void fit_writes(const Observations& seen, const ProbePlan& plan, TierProfile& tier, Judgement& judgement) {
  const auto best = enough(seen.samples, CellKind::write, plan.latency_most, plan.arena);
  if (best) tier.write = measure<BytesPerSecond>(seen.samples.values(*best), kWriteTarget, plan.seed);
  const Levels levels = levels_of(seen.samples, CellKind::commit);
  const auto law = commit_of(levels.cells, levels.groups);
  if (law.empty()) {
    judgement.note("too few sizes of durable writes to fit what a commit costs");
    return;
  }
  const auto intervals = bootstrap(
      levels.groups, [&](const Groups& groups) { return commit_of(levels.cells, groups); }, plan.seed);
  tier.commit_half = with_interval(Bytes(std::llround(law[1])), intervals[1], levels.samples, Verdict::good);
  if (tier.write.verdict != Verdict::invalid && law[0] < kDurableLeast * tier.write.value.value()) {
    judgement.note("durable writes level off at " + format(BytesPerSecond(law[0])) + ", others at " +
                   format(tier.write.value) + ": the profile keeps the lower rate");
    tier.write = with_interval(BytesPerSecond(law[0]), intervals[0], levels.samples, tier.write.verdict);
  }
  check_narrow("the write rate", tier.write.value.value(), {tier.write.low.value(), tier.write.high.value()},
               kWriteTarget, judgement);
}

void fit_beside(const Samples& samples, const ProbePlan& plan, TierProfile& tier) {
  const auto idle = samples.values(CellKind::idle);
  const auto beside = samples.values(CellKind::beside);
  if (idle.empty() || beside.empty()) return;
  const auto share = [](const Groups& groups) { return std::vector{median(groups[0]) / median(groups[1])}; };
  const Groups groups = {beside, idle};
  const auto interval = bootstrap(groups, share, plan.seed);
  const double value = share(groups)[0];
  tier.read_during_writes = {value, std::min(value, interval[0].low), std::max(value, interval[0].high),
                             static_cast<int>(beside.size()), Verdict::good};
}

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
    judgement.note("whole loads of " + format(cell.io_size) + " took " + percent(std::fabs(off)) +
                   (off > 0 ? " longer" : " less") + " than set-up and rate predict");
  }
}

void note_runs(const Samples& samples, Judgement& judgement) {
  const Levels levels = levels_of(samples, CellKind::run_length);
  const auto law = commit_of(levels.cells, levels.groups);
  if (law.empty()) return;
  const CommitLaw runs{BytesPerSecond(law[0]), Bytes(std::llround(law[1]))};
  judgement.note("runs of " + format(runs.size_for(0.9)) + " reach 90 % of the sequential rate of " +
                 format(runs.sequential) + ", for the zone where the scratch file landed");
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
  for (const CellKind kind : {CellKind::load, CellKind::surface}) {
    for (const Cell& cell : samples.cells(kind)) {
      std::vector<double> shares;
      for (const Sample& sample : samples.all()) {
        if (sample.cell == cell) shares.push_back(sample.run.cpu_share);
      }
      if (kind == CellKind::load) most = std::max(most, median(shares));
    }
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
  TierProfile tier;
  Judgement judgement;
  fit_reads(seen.samples, plan, seen.point, tier, judgement);
  fit_concurrency(seen.samples, plan, tier, judgement);
  fit_writes(seen, plan, tier, judgement);
  fit_beside(seen.samples, plan, tier);
  fit_ramp(seen.samples, plan, tier, judgement);
  check_prediction(seen.samples, tier, judgement);
  note_runs(seen.samples, judgement);
  check_data(seen.wrong_sectors, judgement);
  check_medium(seen.proof, seen.mode, judgement);
  if (seen.mode.direct) {
    check_again(seen.samples.values(CellKind::first_read), seen.samples.values(CellKind::again), plan.seed,
                judgement);
  }
  check_processor(busiest(seen.samples), judgement);
  check_drift(seen.samples.values(CellKind::reference), plan.seed, judgement);
  if (seen.budget_spent) judgement.note("some writes were left out to stay inside the budget");
  tier.reads = surface_of(seen.samples, {CellKind::surface, CellKind::load}, plan.seed);
  tier.writes = surface_of(seen.samples, {CellKind::write}, plan.seed);
  tier.verdict = judgement.verdict;
  tier.findings = std::move(judgement.findings);
  return tier;
}

}  // namespace fulcrum::calibrate
