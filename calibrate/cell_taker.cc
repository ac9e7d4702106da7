#include "calibrate/cell_taker.h"

#include <algorithm>

#include "base/errors.h"

namespace fulcrum::calibrate {
namespace {

constexpr Bytes kSmallRead{4096};
constexpr Seconds kSlice{0.05};  // of a rest, between looks at the stop
constexpr int kRunSamples = 2;   // whole runs in one sample of a turning medium

}  // namespace

Result<CellTaker> CellTaker::create(Device& device, Clock& clock, const ProbePlan& plan,
                                    const ProbeHooks& hooks, const std::atomic<bool>& stop) {
  auto runner = LoadRunner::create(device, clock, Payload(plan.seed, plan.payload), plan.arena, hooks.cpu,
                                   stop, plan.seed);
  if (runner.has_error()) return runner.error();
  return CellTaker(device, clock, plan, hooks, std::move(*runner), stop);
}

CellTaker::CellTaker(Device& device, Clock& clock, const ProbePlan& plan, const ProbeHooks& hooks,
                     LoadRunner runner, const std::atomic<bool>& stop)
    : device_(&device),
      clock_(&clock),
      plan_(plan),
      runner_(std::move(runner)),
      heat_(hooks.heat),
      stop_(&stop),
      start_(clock.now()) {
  heat_.look(start_);
  runner_.set_write_most(plan.write_most);
  seen_.mode = device.mode();
}

void CellTaker::record(const Cell& cell, double value, const RunResult& run) {
  seen_.wrong_sectors += run.wrong_sectors;
  seen_.samples.add({cell, elapsed(), value, run});
  heat_.look_sometimes(clock_->now());
}

bool CellTaker::writes(CellKind kind) const {
  return kind == CellKind::write || kind == CellKind::commit || kind == CellKind::beside ||
         kind == CellKind::after;
}

void CellTaker::forget_pages() {
  // A filesystem that cannot drop pages shows in the residency that follows.
  static_cast<void>(device_->drop_cache());
  const DeviceEvidence now = device_->evidence();
  if (now.known) seen_.proof.resident_share = std::max(seen_.proof.resident_share, now.resident_share);
}

void CellTaker::begin_proof() {
  if (device_->mode().direct) forget_pages();
  proof_start_ = device_->evidence();
  proof_read_ = device_->counters().read_bytes;
}

void CellTaker::end_proof() {
  const DeviceEvidence now = device_->evidence();
  MediumProof& proof = seen_.proof;
  proof.known = proof.known && now.known && proof_start_.known;
  proof.asked += device_->counters().read_bytes - proof_read_;
  proof.process_read += now.process_read - proof_start_.process_read;
  proof.device_read += now.device_read - proof_start_.device_read;
  if (now.known && device_->mode().direct)
    proof.resident_share = std::max(proof.resident_share, now.resident_share);
}

Result<RunResult> CellTaker::run(const Cell& cell) {
  const Cell& point = seen_.point;
  switch (cell.kind) {
    case CellKind::setup:
      return runner_.transfer(IoKind::read, runner_.random_place(kSmallRead, kSmallRead), kSmallRead,
                              kSmallRead, 1);
    case CellKind::whole:
      return runner_.transfer(IoKind::read, runner_.random_place(cell.io_size, point.io_size), cell.io_size,
                              point.io_size, point.depth);
    case CellKind::run_length: {
      // Several runs at different places, or the one good place would decide.
      RunResult sum;
      for (int i = 0; i < kRunSamples; ++i) {
        auto one = runner_.transfer(IoKind::read, runner_.random_place(cell.io_size, kSmallRead),
                                    cell.io_size, std::min(cell.io_size, point.io_size), point.depth);
        if (one.has_error()) return one;
        sum.bytes += one->bytes;
        sum.time += one->time;
        sum.wrong_sectors += one->wrong_sectors;
      }
      sum.rate = sum.bytes / sum.time;
      return sum;
    }
    case CellKind::commit:
      return runner_.commits(cell.io_size, point.io_size, cell.depth, plan_.write_window);
    case CellKind::write:
      return runner_.steady({IoKind::write, cell.io_size, cell.depth, 1, {}}, plan_.write_window);
    case CellKind::idle:
    case CellKind::beside: {
      const BytesPerSecond writes = cell.kind == CellKind::beside ? write_back_ : BytesPerSecond(0);
      return runner_.steady({IoKind::read, cell.io_size, cell.depth, cell.loads, writes}, plan_.write_window);
    }
    default:
      return runner_.steady({IoKind::read, cell.io_size, cell.depth, cell.loads, {}}, plan_.window);
  }
}

Result<void> CellTaker::take(const Cell& cell) {
  if (writes(cell.kind) && seen_.budget_spent) return {};
  if (!device_->mode().direct && !writes(cell.kind)) forget_pages();
  if (cell.kind == CellKind::first_read) return take_again(cell);
  auto done = run(cell);
  if (done.has_error()) return done.error();
  seen_.budget_spent = seen_.budget_spent || runner_.limited();
  if (runner_.limited()) return {};
  const bool timed = cell.kind == CellKind::setup || cell.kind == CellKind::whole;
  record(cell, timed ? done->time.value() : done->rate.value(), *done);
  return {};
}

Result<void> CellTaker::take_again(const Cell& cell) {
  const Cell& point = seen_.point;
  const std::int64_t place = runner_.random_place(cell.io_size, point.io_size);
  for (const CellKind kind : {CellKind::first_read, CellKind::again}) {
    auto done = runner_.transfer(IoKind::read, place, cell.io_size, point.io_size, point.depth);
    if (done.has_error()) return done.error();
    record({kind, cell.io_size, point.depth, 1}, done->rate.value(), *done);
  }
  return {};
}

Result<void> CellTaker::fill(Bytes piece) {
  auto done = runner_.transfer(IoKind::write, runner_.filled().value(), piece, plan_.reference_io,
                               plan_.reference_depth);
  if (done.has_error()) return done.error();
  record({CellKind::fill, plan_.reference_io, plan_.reference_depth, 1}, done->rate.value(), *done);
  return {};
}

Result<void> CellTaker::ramp(Bytes length, Bytes piece) {
  std::int64_t offset = 0;
  for (Bytes moved{}; moved < length; moved += piece) {
    if (offset + piece.value() > runner_.filled().value()) offset = 0;
    auto done = runner_.transfer(IoKind::write, offset, piece, plan_.reference_io, plan_.reference_depth);
    if (done.has_error()) return done.error();
    seen_.budget_spent = seen_.budget_spent || runner_.limited();
    if (runner_.limited()) return {};
    record({CellKind::ramp, plan_.reference_io, plan_.reference_depth, 1}, done->rate.value(), *done);
    offset += piece.value();
  }
  return {};
}

Result<BytesPerSecond> CellTaker::burst_after(Seconds rest, Bytes bytes) {
  for (const Seconds end = clock_->now() + rest; clock_->now() < end;) {
    if (stop_->load(std::memory_order_relaxed))
      return make_error(ErrorKind::interrupted, "calibrate", "", "stopped on request");
    clock_->sleep(std::min(kSlice, end - clock_->now()));
  }
  auto done = runner_.transfer(IoKind::write, 0, bytes, plan_.reference_io, plan_.reference_depth);
  if (done.has_error()) return done.error();
  seen_.budget_spent = seen_.budget_spent || runner_.limited();
  if (runner_.limited()) return BytesPerSecond(0);
  record({CellKind::rested, plan_.reference_io, plan_.reference_depth, 1}, done->rate.value(), *done);
  seen_.rested.push_back({rest, bytes, done->rate});
  return done->rate;
}

Result<void> CellTaker::verify(Bytes part) {
  part = std::min(part, runner_.filled());
  const std::int64_t place = runner_.random_place(part, kSmallRead);
  const auto wrong = runner_.verify(place, part, plan_.reference_io);
  if (wrong.has_error()) return wrong.error();
  seen_.wrong_sectors += *wrong;
  return {};
}

Result<void> CellTaker::settle() {
  if (auto durable = device_->sync(); durable.has_error()) return durable;
  static_cast<void>(device_->drop_cache());
  return {};
}

Observations CellTaker::finish() && {
  heat_.look(clock_->now());
  seen_.heat = heat_.heat();
  seen_.filled = runner_.filled();
  return std::move(seen_);
}

}  // namespace fulcrum::calibrate
