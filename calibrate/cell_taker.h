// CellTaker: takes one sample of a cell, whatever its kind, and writes it down.
//
// In buffered mode the page cache is dropped before every read, and how much of it stayed is remembered.
// Writes beyond the plan's budget are left out, and that is remembered too. Threads: one.
#pragma once

#include <utility>

#include "calibrate/load_runner.h"
#include "calibrate/storage_probe.h"

namespace fulcrum::calibrate {

class CellTaker {
 public:
  static Result<CellTaker> create(Device& device, Clock& clock, const ProbePlan& plan,
                                  const ProbeHooks& hooks, const std::atomic<bool>& stop);

  /// Kinds: interrupted, those of Device.
  Result<void> take(const Cell& cell);
  /// One part of the file, from where the last fill ended.
  Result<void> fill(Bytes piece);
  /// A long write over the whole file, again and again, in pieces.
  Result<void> ramp(Bytes length, Bytes piece);
  /// A short write after `rest` without traffic; its rate, or 0 where the budget does not allow it.
  Result<BytesPerSecond> burst_after(Seconds rest, Bytes bytes);
  /// Every byte of a part of the file, outside of any timing.
  Result<void> verify(Bytes part);
  /// Writes out what the system still holds back, and forgets cached pages.
  Result<void> settle();

  /// Begins and ends a stretch of reads whose bytes the system's counters must show.
  void begin_proof();
  void end_proof();

  void set_point(const Cell& point) { seen_.point = point; }
  /// Rate of the writes beside reads.
  void set_write_back(BytesPerSecond rate) { write_back_ = rate; }
  [[nodiscard]] const Samples& samples() const { return seen_.samples; }
  [[nodiscard]] Bytes filled() const { return runner_.filled(); }
  [[nodiscard]] int most_in_flight(Bytes io_size) const { return runner_.most_in_flight(io_size); }
  [[nodiscard]] bool direct() const { return seen_.mode.direct; }
  [[nodiscard]] Seconds elapsed() const { return clock_->now() - start_; }
  [[nodiscard]] Observations finish() &&;

 private:
  CellTaker(Device& device, Clock& clock, const ProbePlan& plan, const ProbeHooks& hooks, LoadRunner runner,
            const std::atomic<bool>& stop);
  Result<RunResult> run(const Cell& cell);
  Result<void> take_again(const Cell& cell);
  void record(const Cell& cell, double value, const RunResult& run);
  [[nodiscard]] bool writes(CellKind kind) const;
  void forget_pages();

  Device* device_;
  Clock* clock_;
  ProbePlan plan_;
  LoadRunner runner_;
  HeatLog heat_;
  const std::atomic<bool>* stop_;
  Seconds start_;
  BytesPerSecond write_back_{};
  DeviceEvidence proof_start_;
  Bytes proof_read_{};
  Observations seen_;
};

}  // namespace fulcrum::calibrate
