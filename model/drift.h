// Drift: how far a tier is from what its profile says, learned from loads that are over.
//
// x = log(observed / predicted) is a random walk seen with noise: a scalar Kalman filter with process
// deviation q and observation deviation r, which is learned too (docs/break_even.md, "Drift"). A single
// outlier counts for at most kPull deviations. A CUSUM of the surprises tells a lasting change from a bad
// minute: on its alarm the estimate starts again at the median of the last three loads. What is handed out
// (factor) moves only when the estimate has left a band around it, so that noise makes no decision flap.
//
// A tier that has become too slow gets no loads any more, and without loads nothing would be learned again:
// after a time without any, pass() goes back halfway to the profile so that the next load is a trial. When
// that fails, the time doubles.
//
// Plain data, deterministic. Time must not go backwards. Threads: one at a time.
#pragma once

#include <array>
#include <string>

#include "fulcrum/units.h"

namespace fulcrum {

class Drift {
 public:
  static constexpr double kMost = 1024;     ///< bounds of the factor: 1/kMost and kMost
  static constexpr double kPull = 3;        ///< deviations that one load counts for at most
  static constexpr double kBand = 0.2;      ///< of log(factor), at least
  static constexpr Seconds kPatience{120};  ///< without a load before the first trial
  static constexpr Seconds kPatienceMost{3600};
  static constexpr Seconds kLasting{120};  ///< what is shorter raises no alarm

  /// A load that was predicted to take `predicted` took `observed`. Values that are not positive are ignored.
  void observe(Seconds predicted, Seconds observed, Seconds now);
  /// A load that was predicted to take `predicted` was given up after `waited`: it would have taken longer.
  /// Raises the estimate or leaves it. Without it, loads that end at their stop-loss would teach nothing.
  void observe_unfinished(Seconds predicted, Seconds waited, Seconds now);
  /// Time passed. Call it now and then, at least once in kPatience.
  void pass(Seconds now);

  /// Times by which loads take longer than predicted; 1: as measured. Between 1/1024 and 1024.
  [[nodiscard]] double factor() const { return factor_; }
  /// What an operator should know: "loads take 2.3 times as long as measured, for 12 min"; empty where all is
  /// well.
  [[nodiscard]] const std::string& alarm() const { return alarm_; }
  [[nodiscard]] int samples() const { return samples_; }

 private:
  void learn(double x, Seconds now);
  void restart();
  void end_trial(bool well);
  void move_factor();
  void watch(Seconds now);

  double estimate_ = 0;    ///< of x
  double noise_ = 0.0625;  ///< r^2
  double variance_ = 0;    ///< of the estimate
  double level_ = 0;       ///< log(factor)
  double factor_ = 1;
  double above_ = 0;  ///< CUSUM of loads slower than the estimate, in deviations
  double below_ = 0;  ///< CUSUM of faster ones
  std::array<double, 3> recent_{};
  int samples_ = 0;
  Seconds last_{};  ///< load, or trial
  Seconds patience_ = kPatience;
  bool trial_ = false;     ///< the estimate is not what was seen
  Seconds off_since_{-1};  ///< negative: it is not off
  bool off_slower_ = false;
  std::string alarm_;
};

}  // namespace fulcrum
