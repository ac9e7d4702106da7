#include "calibrate/heat_log.h"

#include <algorithm>

namespace fulcrum::calibrate {
namespace {

constexpr Seconds kApart{1};

}  // namespace

void HeatLog::look(Seconds now) {
  last_ = now;
  const auto read = meter_();
  if (!read) return;
  if (!heat_) heat_ = Heat{read->celsius, read->celsius, read->celsius, read->limit};
  heat_->hottest = std::max(heat_->hottest, read->celsius);
  heat_->after = read->celsius;
}

void HeatLog::look_sometimes(Seconds now) {
  if (now - last_ >= kApart) look(now);
}

}  // namespace fulcrum::calibrate
