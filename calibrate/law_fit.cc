#include "calibrate/law_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/document.h"

namespace fulcrum::calibrate {
namespace {

constexpr double kSetupTarget = 0.10;
constexpr double kWriteTarget = 0.10;
constexpr double kLawTarget = 0.10;  // residual of a fitted law
constexpr double kDurableLeast = 0.85;

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

/// X1, sigma and k; empty where no law fits.
std::vector<double> contention_of(const std::vector<Cell>& cells, const Groups& groups) {
  std::vector<ThroughputSample> points;
  for (std::size_t i = 0; i < cells.size(); ++i)
    points.push_back({cells[i].loads, BytesPerSecond(median(groups[i]))});
  const auto law = fit_contention(points);
  if (law.has_error()) return {};
  return {law->single.value(), law->sigma, law->k};
}

/// Sequential rate and half size; empty where no law fits.
std::vector<double> commit_of(const std::vector<Cell>& cells, const Groups& groups) {
  std::vector<CommitSample> points;
  for (std::size_t i = 0; i < cells.size(); ++i)
    points.push_back({cells[i].io_size, BytesPerSecond(median(groups[i]))});
  const auto law = fit_commit(points);
  if (law.has_error()) return {};
  return {law->sequential.value(), static_cast<double>(law->half.value())};
}

template <class T>
T quantity(double raw) {
  return T(static_cast<typename T::rep>(raw));
}

template <class T>
Measured<T> with_interval(double value, Interval<double> interval, int samples, Verdict verdict) {
  return {quantity<T>(value), quantity<T>(std::min(value, interval.low)),
          quantity<T>(std::max(value, interval.high)), samples, verdict};
}

Measured<double> share(double value, Interval<double> interval, int samples, Verdict verdict) {
  return {value, std::min(value, interval.low), std::max(value, interval.high), samples, verdict};
}

double worst_residual(const Levels& levels, const ContentionLaw& law) {
  double worst = 0;
  for (std::size_t i = 0; i < levels.cells.size(); ++i) {
    const double ratio = median(levels.groups[i]) / law.throughput(levels.cells[i].loads).value();
    worst = std::max(worst, std::fabs(ratio - 1));
  }
  return worst;
}

template <class T>
void check_measured(const std::string& what, const Measured<T>& measured, double target,
                    Judgement& judgement) {
  check_narrow(what, static_cast<double>(measured.value.value()),
               {static_cast<double>(measured.low.value()), static_cast<double>(measured.high.value())},
               target, judgement);
}

}  // namespace

void fit_reads(const Samples& samples, const Cell& point, double target, TierProfile& tier,
               Judgement& judgement) {
  tier.io_size = point.io_size;
  tier.depth = point.depth;
  const Cell one{CellKind::load, point.io_size, point.depth, 1};
  tier.read = measure<BytesPerSecond>(samples.values(one), target);
  tier.setup = measure<Seconds>(samples.values(CellKind::setup), kSetupTarget);
  check_measured("the read rate of one load", tier.read, target, judgement);
  check_measured("the set-up latency", tier.setup, kSetupTarget, judgement);
}

void fit_concurrency(const Samples& samples, std::uint64_t seed, TierProfile& tier, Judgement& judgement) {
  const Levels levels = levels_of(samples, CellKind::load);
  const auto law = contention_of(levels.cells, levels.groups);
  if (law.empty()) {
    judgement.note("too few levels of concurrency to fit how loads share the device");
    return;
  }
  const auto intervals = bootstrap(
      levels.groups, [&](const Groups& groups) { return contention_of(levels.cells, groups); }, seed);
  const double worst = worst_residual(levels, {BytesPerSecond(law[0]), law[1], law[2]});
  if (worst > kLawTarget) {
    judgement.note("the contention law is up to " + percent_text(worst) +
                   " off the measured rates: loads share this device in another way");
  }
  const Verdict verdict = worst > kLawTarget ? Verdict::noisy : Verdict::good;
  tier.sigma = share(law[1], intervals[1], levels.samples, verdict);
  tier.k = share(law[2], intervals[2], levels.samples, verdict);
}

void fit_writes(const Samples& samples, const std::optional<Cell>& best, std::uint64_t seed,
                TierProfile& tier, Judgement& judgement) {
  if (best) tier.write = measure<BytesPerSecond>(samples.values(*best), kWriteTarget);
  const Levels levels = levels_of(samples, CellKind::commit);
  const auto law = commit_of(levels.cells, levels.groups);
  if (law.empty()) {
    judgement.note("too few sizes of durable writes to fit what a commit costs");
    return;
  }
  const auto intervals = bootstrap(
      levels.groups, [&](const Groups& groups) { return commit_of(levels.cells, groups); }, seed);
  tier.commit_half = with_interval<Bytes>(law[1], intervals[1], levels.samples, Verdict::good);
  if (best && law[0] < kDurableLeast * tier.write.value.value()) {
    judgement.note("durable writes level off at " + format(BytesPerSecond(law[0])) + ", others at " +
                   format(tier.write.value) + ": the profile keeps the lower rate");
    tier.write = with_interval<BytesPerSecond>(law[0], intervals[0], levels.samples, tier.write.verdict);
  }
  if (best) check_measured("the write rate", tier.write, kWriteTarget, judgement);
}

void fit_beside(const Samples& samples, std::uint64_t seed, TierProfile& tier) {
  const Groups groups = {samples.values(CellKind::beside), samples.values(CellKind::idle)};
  if (groups[0].empty() || groups[1].empty()) return;
  // Writes do not speed reads up: what looks like it is noise.
  const auto ratio = [](const Groups& g) { return std::vector{std::min(1.0, median(g[0]) / median(g[1]))}; };
  const auto interval = bootstrap(groups, ratio, seed);
  tier.read_during_writes =
      share(ratio(groups)[0], interval[0], static_cast<int>(groups[0].size()), Verdict::good);
}

std::optional<CommitLaw> fit_sizes(const Samples& samples, CellKind kind) {
  const Levels levels = levels_of(samples, kind);
  const auto law = commit_of(levels.cells, levels.groups);
  if (law.empty()) return std::nullopt;
  return CommitLaw{BytesPerSecond(law[0]), quantity<Bytes>(law[1])};
}

}  // namespace fulcrum::calibrate
