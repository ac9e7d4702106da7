#include "model/drift.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/document.h"

namespace fulcrum {
namespace {

constexpr double kWalk = 0.1;         // q/r: a steady gain of 0.095
constexpr double kNoiseGain = 0.03;   // how fast r^2 follows
constexpr double kNoiseLeast = 0.01;  // of r^2
constexpr double kNoiseMost = 0.36;
constexpr double kSlack = 0.5;      // CUSUM, in deviations: an alarm takes three loads at least,
constexpr double kLimit = 6;        // and comes by chance once in some thousand
constexpr double kTrial = 2;        // what is left of the limit for a trial
constexpr double kBandNoise = 0.8;  // of r: 3.5 deviations of a settled estimate
constexpr double kOff = 0.4;        // of log(factor): 1.5 times

bool positive(Seconds time) {
  return std::isfinite(time.value()) && time > Seconds(0);
}

double log_ratio(Seconds predicted, Seconds observed) {
  const double most = std::log(Drift::kMost);
  return std::clamp(std::log(observed.value()) - std::log(predicted.value()), -most, most);
}

std::string sentence(double factor, Seconds lasted) {
  const bool slower = factor > 1;
  std::array<char, 32> times{};
  (void)std::snprintf(times.data(), times.size(), "%.1f", slower ? factor : 1 / factor);
  const Seconds minutes(60 * std::floor(lasted.value() / 60));
  return std::string(slower ? "loads take " : "loads are ") + times.data() + " times as " +
         (slower ? "long" : "fast") + " as measured, for " + format(minutes);
}

}  // namespace

void Drift::observe(Seconds predicted, Seconds observed, Seconds now) {
  if (positive(predicted) && positive(observed)) learn(log_ratio(predicted, observed), now);
}

void Drift::observe_unfinished(Seconds predicted, Seconds waited, Seconds now) {
  if (!positive(predicted) || !positive(waited)) return;
  last_ = std::max(last_, now);
  const double least = log_ratio(predicted, waited);
  if (least > estimate_) learn(least, now);
}

void Drift::learn(double x, Seconds now) {
  recent_ = {recent_[1], recent_[2], x};
  if (samples_ < std::numeric_limits<int>::max()) ++samples_;
  last_ = std::max(last_, now);

  variance_ += kWalk * kWalk * noise_;
  const double deviation = std::sqrt(variance_ + noise_);
  const double gain = variance_ / (variance_ + noise_);
  const double surprise = std::clamp((x - estimate_) / deviation, -kPull, kPull);
  estimate_ += gain * surprise * deviation;
  variance_ *= 1 - gain;
  if (!trial_) {
    noise_ = std::clamp(noise_ * (1 + kNoiseGain * (surprise * surprise - 1)), kNoiseLeast, kNoiseMost);
  }

  above_ = std::max(0.0, above_ + surprise - kSlack);
  below_ = std::max(0.0, below_ - surprise - kSlack);
  if (std::max(above_, below_) > kLimit) restart();
  if (trial_ && above_ == 0) end_trial(true);
  move_factor();
  watch(now);
}

// The level has changed. Of three loads, one may be an outlier.
void Drift::restart() {
  if (trial_) end_trial(below_ > above_);
  std::array<double, 3> sorted = recent_;
  std::ranges::sort(sorted);
  estimate_ = sorted[1];
  variance_ = noise_ / 2;
  above_ = 0;
  below_ = 0;
}

void Drift::end_trial(bool well) {
  trial_ = false;
  patience_ = well ? kPatience : std::min(patience_ * 2.0, kPatienceMost);
}

void Drift::move_factor() {
  const double band = std::max(kBand, kBandNoise * std::sqrt(noise_));
  const bool as_measured = std::abs(estimate_) < band / 2;
  if (!as_measured && std::abs(estimate_ - level_) <= band) return;
  level_ = as_measured ? 0 : estimate_;
  factor_ = std::exp(level_);
}

void Drift::watch(Seconds now) {
  if (std::abs(level_) < kOff) {
    off_since_ = Seconds(-1);
    alarm_.clear();
    return;
  }
  const bool slower = level_ > 0;
  if (off_since_ < Seconds(0) || slower != off_slower_) off_since_ = now;
  off_slower_ = slower;
  if (now - off_since_ >= kLasting) alarm_ = sentence(factor_, now - off_since_);
}

// One load that is far too slow is then enough to go back to where it was.
void Drift::pass(Seconds now) {
  if (level_ <= 0 || now - last_ < patience_) return;
  last_ = now;
  trial_ = true;
  level_ = level_ < kBand ? 0 : level_ / 2;
  factor_ = std::exp(level_);
  estimate_ = level_;
  above_ = kLimit - kTrial;
  below_ = 0;
}

}  // namespace fulcrum
