// TierDevice: one storage tier in virtual time, with the costs of its profile.
//
// Reads: a load waits its set-up time l, then shares the device with the other loads in transfer: each of N
// gets X(N)/N bytes a second (contention law, docs/break_even.md). Writes: one write-back stream, first come
// first served, at the profile's write rate; while it runs, reads slow down to `read_during_writes`.
// The device may differ from its profile (DeviceTruth): that is how a prediction gets to be wrong.
// Cost: O(log n) for each start and finish of n transfers in flight.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fulcrum/profile.h"

namespace fulcrum::replay {

/// How the simulated device differs from what the profile says of it.
struct DeviceTruth {
  double bandwidth_scale = 1;  ///< 0.1: ten times slower than profiled
  double setup_scale = 1;
  double noise = 0;  ///< deviation of the log of one transfer's time (log-normal, median 1)
};

class TierDevice {
 public:
  static constexpr Seconds kIdle{std::numeric_limits<double>::infinity()};

  TierDevice(const TierProfile& profile, const DeviceTruth& truth, Random random);

  void start_read(std::uint64_t id, Bytes bytes, Seconds now);
  void start_write(std::uint64_t id, Bytes bytes, Seconds now);
  // cancel() and progress() want the device moved on to `now` by advance().
  /// Takes a transfer out, finished or not. Returns the share of its bytes that had been moved, 0..1.
  double cancel(std::uint64_t id, Seconds now);
  /// Share of a read's bytes that have arrived, 0..1; 0 for an unknown transfer or a write.
  [[nodiscard]] double progress(std::uint64_t id, Seconds now);

  /// Counts bytes that pass through this tier without taking its time.
  void count(Bytes read, Bytes written) {
    bytes_read_ += read;
    bytes_written_ += written;
  }

  /// When the next transfer changes state; kIdle if none will.
  [[nodiscard]] Seconds next() const;
  /// Moves time on to `now` and appends the ids of the transfers that finished, in order.
  void advance(Seconds now, std::vector<std::uint64_t>& finished);

  [[nodiscard]] Bytes bytes_read() const { return bytes_read_; }
  [[nodiscard]] Bytes bytes_written() const { return bytes_written_; }
  [[nodiscard]] int most_reads_at_once() const { return most_reads_at_once_; }
  /// Transfers started so far. A forecast made before the last change is stale.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  enum class Phase : std::uint8_t { setup, transfer };
  struct Read {
    Phase phase = Phase::setup;
    Bytes bytes{};
    double work = 0;    ///< bytes to move at the device's rate: bytes times noise
    double finish = 0;  ///< time of the end of the set-up, then level of `served_` at which it is done
  };
  struct Write {
    std::uint64_t id = 0;
    Bytes bytes{};
    double work = 0;
  };
  using Order = std::set<std::pair<double, std::uint64_t>>;

  [[nodiscard]] double share_rate() const;
  [[nodiscard]] Seconds next_finish() const;
  void step_to(Seconds time);
  void begin_transfer(std::uint64_t id);
  void begin_write(Seconds now);
  [[nodiscard]] double noisy(Bytes bytes);

  ContentionLaw contention_;
  Seconds setup_;
  double write_rate_;
  double read_during_writes_;
  double noise_;
  Random random_;

  std::unordered_map<std::uint64_t, Read> reads_;
  Order setups_;     ///< by end of set-up
  Order transfers_;  ///< by level of served_
  std::deque<Write> writes_;
  Seconds write_end_{kIdle};
  double served_ = 0;  ///< bytes that a load in transfer since the start would have received
  Seconds last_{};
  Bytes bytes_read_{};
  Bytes bytes_written_{};
  int most_reads_at_once_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace fulcrum::replay
