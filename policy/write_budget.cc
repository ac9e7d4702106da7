#include "policy/write_budget.h"

#include <algorithm>
#include <cmath>

namespace fulcrum {

WriteBudget::WriteBudget(BytesPerSecond rate, Bytes burst) {
  const auto bytes = static_cast<double>(burst.value());
  rate_ = {rate.value(), bytes, bytes};
}

void WriteBudget::limit_day(Bytes limit) {
  const auto bytes = static_cast<double>(limit.value());
  const double burst = bytes / kDayShare;
  day_ = {(bytes - burst) / kDay.value(), burst, burst};
}

void WriteBudget::advance(Seconds now) {
  if (now <= last_) return;
  rate_.refill(now - last_);
  day_.refill(now - last_);
  last_ = now;
}

std::uint32_t WriteBudget::affords(std::uint32_t wanted, Bytes size) const {
  const double blocks = std::min(rate_.left, day_.left) / static_cast<double>(size.value());
  return blocks >= wanted ? wanted : static_cast<std::uint32_t>(std::max(0.0, blocks));
}

void WriteBudget::spend(Bytes bytes) {
  rate_.left -= static_cast<double>(bytes.value());
  day_.left -= static_cast<double>(bytes.value());
}

void WriteBudget::restore(const WriteBudgetState& state, Seconds down) {
  const bool known = std::isfinite(down.value()) && down > Seconds(0);
  rate_.restore(state.left, known ? down : Seconds(0));
  day_.restore(state.day_left, known ? down : Seconds(0));
}

void WriteBudget::Bucket::refill(Seconds elapsed) {
  left = std::min(burst, left + rate * elapsed.value());
}

void WriteBudget::Bucket::restore(double then, Seconds down) {
  if (std::isinf(burst)) return;
  const double owed = std::isnan(then) ? 0 : std::max(then, -rate * kDay.value());
  left = std::min(left, owed + rate * down.value());
}

}  // namespace fulcrum
