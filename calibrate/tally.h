// Tally: what one run of traffic completed, by time, and what follows from it.
#pragma once

#include <cstdint>
#include <vector>

#include "fulcrum/units.h"

namespace fulcrum::calibrate {

struct RunResult {
  BytesPerSecond rate{};
  Seconds time{};
  Bytes bytes{};  ///< that `rate` rests on
  Seconds latency_p50{};
  Seconds latency_p99{};
  double cpu_share = 0;            ///< processor time of this thread / time
  double second_half = 1;          ///< rate of the window's second half / first half
  std::int64_t wrong_sectors = 0;  ///< read, and not what was written there
};

class Tally {
 public:
  /// Starts the window: what completed so far does not count.
  void begin(Seconds now, Seconds cpu);
  void add(Bytes bytes, Seconds latency, std::int64_t wrong_sectors);
  /// Ends a batch of completions that were seen together at `now`.
  void close_batch(Seconds now);

  [[nodiscard]] Seconds started() const { return started_; }
  [[nodiscard]] std::int64_t requests() const { return static_cast<std::int64_t>(latencies_.size()); }
  /// Sums up the window from begin() to the last batch. `cpu` is the meter's reading at its end.
  [[nodiscard]] RunResult result(Seconds cpu) const;

 private:
  struct Batch {
    Seconds at;
    Bytes moved;  ///< since the window began
  };
  [[nodiscard]] double second_half() const;

  Seconds started_{};
  Seconds cpu_{};
  Bytes moved_{};
  std::vector<Batch> batches_;
  std::vector<double> latencies_;
  std::int64_t wrong_sectors_ = 0;
};

}  // namespace fulcrum::calibrate
