// WriteBudget: a token bucket for bytes written to one tier.
//
// Between any two moments it lets through at most `burst` plus rate times the time between them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fulcrum/units.h"

namespace fulcrum {

class WriteBudget {
 public:
  /// Lets everything through.
  WriteBudget() = default;
  /// Starts full.
  WriteBudget(BytesPerSecond rate, Bytes burst)
      : limited_(true), rate_(rate), burst_(static_cast<double>(burst.value())), left_(burst_) {}

  void advance(Seconds now) {
    if (now <= last_) return;
    left_ = std::min(burst_, left_ + rate_.value() * (now - last_).value());
    last_ = now;
  }
  /// Whole blocks of `size` that may be written now, at most `wanted`.
  [[nodiscard]] std::uint32_t affords(std::uint32_t wanted, Bytes size) const {
    if (!limited_) return wanted;
    const double blocks = std::max(0.0, left_ / static_cast<double>(size.value()));
    return blocks >= wanted ? wanted : static_cast<std::uint32_t>(blocks);
  }
  void spend(Bytes bytes) {
    if (limited_) left_ -= static_cast<double>(bytes.value());
  }

 private:
  bool limited_ = false;
  BytesPerSecond rate_{};
  double burst_ = 0;  ///< bytes
  double left_ = 0;   ///< bytes
  Seconds last_{};
};

}  // namespace fulcrum
