#include "calibrate/storage_probe.h"

#include <algorithm>
#include <utility>

#include "base/document.h"
#include "base/random.h"
#include "calibrate/cell_taker.h"
#include "calibrate/storage_fit.h"
#include "calibrate/write_ramp.h"

namespace fulcrum::calibrate {
namespace {

constexpr std::int64_t kPieces = 32;  // of the first write
constexpr std::size_t kReferenceEvery = 8;
constexpr std::int64_t kLoadsAtPoint = 8;  // concurrent loads that must fit into the arena
constexpr int kCommitDepth = 4;
constexpr double kSettledWrites = 0.10;
constexpr double kLongerRest = 1.5;
constexpr Bytes kBurstMost{std::int64_t{4} << 30};  // each rest is asked about by one

/// The parts of a probe, each with its share of the progress bar.
class StorageProbe {
 public:
  StorageProbe(const ProbePlan& plan, const ProbeHooks& hooks, CellTaker taker)
      : plan_(plan), hooks_(hooks), taker_(std::move(taker)), order_(Random(plan.seed).split("order")) {}

  Result<Observations> run() {
    for (const auto part :
         {&StorageProbe::fill, &StorageProbe::surface, &StorageProbe::loads, &StorageProbe::writes,
          &StorageProbe::commits, &StorageProbe::beside, &StorageProbe::last}) {
      if (auto done = (this->*part)(); done.has_error()) return done.error();
    }
    hooks_.progress(1, "done");
    return std::move(taker_).finish();
  }

 private:
  Result<void> fill();
  Result<void> surface();
  Result<void> loads();
  Result<void> writes();
  Result<void> beside();
  Result<void> commits();
  Result<void> recovery();
  Result<void> last();

  void shuffle(std::vector<Cell>& cells);
  Result<void> take_all(std::vector<Cell> cells);
  /// The same, with a reference cell every now and then. Not among writes: reads after writes may be slow
  /// for reasons that are no drift.
  Result<void> take_all_reads(std::vector<Cell> cells);
  Result<void> take_reference();
  [[nodiscard]] bool settled(const Cell& cell, double target) const;
  [[nodiscard]] std::vector<Cell> unsettled(const std::vector<Cell>& cells, double target) const;
  [[nodiscard]] std::vector<Cell> read_surface_cells() const;
  [[nodiscard]] std::vector<Cell> load_cells() const;
  void choose_point();
  void say(double share, std::string_view what) const { hooks_.progress(share, what); }

  const ProbePlan& plan_;
  const ProbeHooks& hooks_;
  CellTaker taker_;
  Random order_;
  std::size_t since_reference_ = 0;
  Cell point_;
};

Result<void> StorageProbe::fill() {
  const Seconds start = taker_.elapsed();
  const Bytes piece = std::max(plan_.file / kPieces / 4096 * 4096, plan_.reference_io);
  while (taker_.filled() + piece <= plan_.file) {
    const bool long_enough =
        taker_.elapsed() - start > plan_.fill_limit && taker_.filled() >= plan_.fill_least;
    if (long_enough) break;
    say(0.15 * (taker_.filled() / plan_.file), "writing the scratch file");
    if (auto done = taker_.fill(piece); done.has_error()) return done;
  }
  point_ = {CellKind::load, plan_.reference_io, plan_.reference_depth, 1};
  taker_.set_point(point_);
  return taker_.settle();
}

Result<void> StorageProbe::take_reference() {
  since_reference_ = 0;
  return taker_.take({CellKind::reference, plan_.reference_io, plan_.reference_depth, 1});
}

void StorageProbe::shuffle(std::vector<Cell>& cells) {
  for (std::size_t i = cells.size(); i > 1; --i) std::swap(cells[i - 1], cells[order_.below(i)]);
}

Result<void> StorageProbe::take_all(std::vector<Cell> cells) {
  shuffle(cells);
  for (const Cell& cell : cells) {
    if (auto done = taker_.take(cell); done.has_error()) return done;
  }
  return {};
}

Result<void> StorageProbe::take_all_reads(std::vector<Cell> cells) {
  shuffle(cells);
  for (const Cell& cell : cells) {
    if (++since_reference_ > kReferenceEvery) {
      if (auto done = take_reference(); done.has_error()) return done;
    }
    if (auto done = taker_.take(cell); done.has_error()) return done;
  }
  return {};
}

std::vector<Cell> StorageProbe::read_surface_cells() const {
  // What takes longer than latency_most to come back is not worth having at any rate.
  const auto reference = taker_.samples().values(CellKind::reference);
  const Bytes most = BytesPerSecond(median(reference)) * plan_.latency_most;
  std::vector<Cell> cells;
  for (const Bytes io_size : plan_.io_sizes) {
    for (const int depth : plan_.depths) {
      const bool useful = depth == 1 || io_size * depth <= most;
      if (useful && depth <= taker_.most_in_flight(io_size))
        cells.push_back({CellKind::surface, io_size, depth, 1});
    }
  }
  return cells;
}

Result<void> StorageProbe::surface() {
  taker_.begin_proof();
  if (auto done = take_reference(); done.has_error()) return done;
  const std::vector<Cell> cells = read_surface_cells();
  const Seconds start = taker_.elapsed();
  for (int round = 0; round < plan_.repeats; ++round) {
    if (round > 1 && taker_.elapsed() - start > plan_.time_limit) break;
    say(0.15 + 0.2 * round / plan_.repeats, "reading at different sizes and depths");
    if (auto done = take_all_reads(cells); done.has_error()) return done;
  }
  taker_.end_proof();
  choose_point();
  return {};
}

void StorageProbe::choose_point() {
  const Bytes arena = plan_.reference_io * taker_.most_in_flight(plan_.reference_io);
  const auto found = enough(taker_.samples(), CellKind::surface, plan_.latency_most, arena / kLoadsAtPoint);
  if (found) point_ = {CellKind::load, found->io_size, found->depth, 1};
  taker_.set_point(point_);
}

std::vector<Cell> StorageProbe::load_cells() const {
  std::vector<Cell> cells;
  for (const int n : plan_.loads) {
    if (n * point_.depth <= taker_.most_in_flight(point_.io_size))
      cells.push_back({CellKind::load, point_.io_size, point_.depth, n});
  }
  for (const Bytes length : plan_.wholes) cells.push_back({CellKind::whole, length, point_.depth, 1});
  for (const Bytes length : plan_.run_lengths)
    cells.push_back({CellKind::run_length, length, point_.depth, 1});
  return cells;
}

bool StorageProbe::settled(const Cell& cell, double target) const {
  return static_cast<int>(taker_.samples().values(cell).size()) >= plan_.settle_most ||
         taker_.samples().settled(cell, plan_.settle_least, target);
}

std::vector<Cell> StorageProbe::unsettled(const std::vector<Cell>& cells, double target) const {
  std::vector<Cell> open;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(open),
               [&](const Cell& cell) { return !settled(cell, target); });
  return open;
}

Result<void> StorageProbe::loads() {
  taker_.begin_proof();
  const std::vector<Cell> cells = load_cells();
  const Cell setup{CellKind::setup, Bytes(4096), 1, 1};
  const Bytes part =
      std::min(taker_.filled() / 8, plan_.arena / 2) / point_.io_size.value() * point_.io_size.value();
  // Through the page cache, reading again is fast by design and shows nothing.
  const bool pairs = taker_.direct() && part > Bytes(0) && part < taker_.filled();
  const Seconds start = taker_.elapsed();
  for (int round = 0; round < plan_.settle_most; ++round) {
    std::vector<Cell> open = unsettled(cells, plan_.target);
    if (open.empty() && settled(setup, plan_.target)) break;
    if (round >= plan_.repeats && taker_.elapsed() - start > plan_.time_limit) break;
    open.insert(open.end(), static_cast<std::size_t>(plan_.setups), setup);
    if (pairs && round < plan_.settle_least) open.push_back({CellKind::first_read, part, 1, 1});
    say(0.35 + 0.35 * round / plan_.settle_most, "reading several loads at once");
    if (auto done = take_all_reads(std::move(open)); done.has_error()) return done;
  }
  taker_.end_proof();
  return {};
}

Result<void> StorageProbe::writes() {
  std::vector<Cell> surface;
  for (const Bytes io_size : plan_.write_sizes) {
    for (const int depth : plan_.write_depths) {
      if (depth <= taker_.most_in_flight(io_size)) surface.push_back({CellKind::write, io_size, depth, 1});
    }
  }
  for (int round = 0; round < plan_.repeats; ++round) {
    say(0.70 + 0.08 * round / plan_.repeats, "writing at different sizes and depths");
    if (auto done = take_all(surface); done.has_error()) return done;
  }
  return taker_.take({CellKind::after, point_.io_size, point_.depth, 1});
}

Result<void> StorageProbe::beside() {
  const auto best = enough(taker_.samples(), CellKind::write, plan_.latency_most, plan_.arena);
  if (!best) return {};
  taker_.set_write_back(BytesPerSecond(median(taker_.samples().values(*best)) * plan_.write_back));
  const std::vector<Cell> pair = {{CellKind::idle, point_.io_size, point_.depth, 1},
                                  {CellKind::beside, point_.io_size, point_.depth, 1}};
  for (int round = 0; round < plan_.settle_least; ++round) {
    say(0.88 + 0.07 * round / plan_.settle_least, "reading beside writes");
    if (auto done = take_all(pair); done.has_error()) return done;
  }
  return {};
}

Result<void> StorageProbe::commits() {
  std::vector<Cell> cells;
  for (const Bytes size : plan_.commits) cells.push_back({CellKind::commit, size, kCommitDepth, 1});
  const Seconds start = taker_.elapsed();
  for (int round = 0; round < plan_.settle_most; ++round) {
    const std::vector<Cell> open = unsettled(cells, kSettledWrites);
    if (open.empty()) break;
    if (round >= plan_.repeats && taker_.elapsed() - start > plan_.time_limit / 2) break;
    say(0.78 + 0.1 * round / plan_.settle_most, "durable writes");
    if (auto done = take_all(open); done.has_error()) return done;
  }
  return {};
}

Result<void> StorageProbe::recovery() {
  const auto ramp = fit_ramp(taker_.samples(), plan_.seed);
  if (!ramp || !ramp->fell) return {};
  // A burst that was too early leaves the cache full again, ready for the next and longer rest.
  const Bytes burst = short_burst(ramp->found, plan_.reference_io, std::min(taker_.filled(), kBurstMost));
  Seconds rested{};
  for (Seconds rest = plan_.rest_first; rested + rest <= plan_.rest_most; rest = rest * kLongerRest) {
    rested += rest;
    say(0.96, "waiting for the write cache");
    const auto rate = taker_.burst_after(rest, burst);
    if (rate.has_error()) return rate.error();
    if (*rate == BytesPerSecond(0) || recovered(*rate, ramp->found)) return {};
  }
  return {};
}

Result<void> StorageProbe::last() {
  if (plan_.ramp > Bytes(0)) {
    say(0.95, "one long write");
    const Bytes piece = std::max(plan_.file / kPieces / 4096 * 4096, plan_.reference_io);
    if (auto done = taker_.ramp(plan_.ramp, piece); done.has_error()) return done;
    if (auto done = recovery(); done.has_error()) return done;
  }
  say(0.97, "checking what was read");
  return taker_.verify(plan_.arena / 2);
}

}  // namespace

Result<Observations> observe_storage(Device& device, Clock& clock, const ProbePlan& plan,
                                     const ProbeHooks& hooks, const std::atomic<bool>& stop) {
  auto taker = CellTaker::create(device, clock, plan, hooks, stop);
  if (taker.has_error()) return taker.error();
  return StorageProbe(plan, hooks, std::move(*taker)).run();
}

Result<StorageReport> probe_storage(Device& device, Clock& clock, const ProbePlan& plan,
                                    const ProbeHooks& hooks, const std::atomic<bool>& stop) {
  auto seen = observe_storage(device, clock, plan, hooks, stop);
  if (seen.has_error()) return seen.error();
  StorageReport report;
  report.tier = fit_tier(*seen, plan);
  report.tier.device = device.identity();
  report.tier.io = device.mode();
  report.samples = std::move(seen->samples);
  return report;
}

}  // namespace fulcrum::calibrate
