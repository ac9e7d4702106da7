// WriteBudget: how many bytes one tier may be given to write, by two token buckets.
//
// A bucket holds `left` <= burst bytes, gains rate * t in t seconds and pays for every write before it
// begins. What is written in a window of t seconds was in the bucket at its start or came in since, so
//
//   written in any t seconds  <=  burst + rate * t
//
// for windows that begin or end anywhere. The bucket of the rate has a burst of the caller's choice. That of
// a limit L a day has burst = L / kDayShare and rate = (L - burst) / 24 h, hence
//
//   written in any 24 hours   <=  burst + (L - burst)  =  L
//
// A steady writer gets 1 - 1/kDayShare of L; an idle night buys no more than the burst for the day after it.
//
// Restart: restore(state(), down) continues the same two buckets, so both laws hold across it as long as
// nothing was written after state() was taken; a longer `down` than the true one is the only way to get more,
// and then at most the burst. Where only the bytes W of the last 24 hours are known, day_left = burst - W is
// safe: any window holds at most W + (burst - W) + (L - burst) = L. Neither restore() nor a clock that jumps
// forward fills a bucket above its burst; a clock that goes back, as one that stood still, fills nothing.
//
// Units: bytes, kept as double (a day of rounding stays far below a byte in 2^50). Threads: one at a time.
#pragma once

#include <cstdint>
#include <limits>

#include "fulcrum/decider.h"
#include "fulcrum/units.h"

namespace fulcrum {

class WriteBudget {
 public:
  /// Bursts of the bucket of the rate. A limit that the operator set is an allowance over time: it may be
  /// used in bursts. What a device can take only keeps its queue short.
  static constexpr Seconds kLimitBurst{60};
  static constexpr Seconds kDeviceBurst{4};
  static constexpr double kDayShare = 10;
  static constexpr Seconds kDay{86400};

  /// Lets everything through.
  WriteBudget() = default;
  /// Starts full.
  WriteBudget(BytesPerSecond rate, Bytes burst);
  /// Adds a limit of bytes in any 24 hours, its bucket full.
  void limit_day(Bytes limit);

  void advance(Seconds now);
  /// Whole blocks of `size` > 0 that may be written now, at most `wanted`.
  [[nodiscard]] std::uint32_t affords(std::uint32_t wanted, Bytes size) const;
  void spend(Bytes bytes);

  /// What is left at the last advance(); infinite where there is no limit.
  [[nodiscard]] WriteBudgetState state() const { return {rate_.left, day_.left}; }
  /// Goes on from a state `down` ago; takes away only. Numbers that are none count as nothing left and no
  /// time passed, and no debt is more than a day's worth, so that a spoilt state cannot end writing for good.
  void restore(const WriteBudgetState& state, Seconds down);

 private:
  struct Bucket {
    double rate = 0;  ///< bytes/s
    double burst = std::numeric_limits<double>::infinity();
    double left = burst;

    void refill(Seconds elapsed);
    void restore(double then, Seconds down);
  };

  Bucket rate_;
  Bucket day_;
  Seconds last_{};
};

}  // namespace fulcrum
