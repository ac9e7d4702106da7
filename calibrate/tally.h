// Tally: what one run of traffic completed, by time, and what follows from it.
//
// Each stream is timed from its last completion before the window to its last one inside, and the rates of
// the streams add up. Counting all completions between two instants instead would count half a request too
// few for each stream that was in step with the others at first and is not any more.
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
  /// One completion of a stream, seen at `now`.
  void add(std::size_t stream, Seconds now, Bytes bytes, Seconds latency);
  void add_wrong_sectors(std::int64_t count) { wrong_sectors_ += count; }

  [[nodiscard]] Seconds started() const { return started_; }
  [[nodiscard]] std::int64_t requests() const { return static_cast<std::int64_t>(latencies_.size()); }
  [[nodiscard]] Bytes moved() const { return moved_; }
  /// Sums up the window from begin() to the last batch. `cpu` is the meter's reading at its end.
  [[nodiscard]] RunResult result(Seconds cpu) const;

 private:
  struct Batch {
    Seconds at;
    Bytes moved;  ///< by all streams since the window began
  };
  struct Stream {
    Seconds from{};  ///< last completion before the window
    Seconds last{};
    Bytes moved{};
    bool seen = false;
  };
  [[nodiscard]] double second_half() const;

  Seconds started_{};
  Seconds cpu_{};
  Bytes moved_{};
  std::vector<Batch> batches_;
  std::vector<Stream> streams_;
  std::vector<double> latencies_;
  std::int64_t wrong_sectors_ = 0;
};

}  // namespace fulcrum::calibrate
