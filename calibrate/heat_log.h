// HeatLog: temperatures of a drive before, during and after its measurement.
//
// A look may cost the drive an admin command, so looks are seconds apart and never inside a sample.
#pragma once

#include <functional>
#include <optional>

#include "fulcrum/profile.h"
#include "fulcrum/units.h"
#include "tiers/mount.h"

namespace fulcrum::calibrate {

/// The drive's temperature now; empty where there is no sensor.
using HeatMeter = std::function<std::optional<Temperature>()>;

class HeatLog {
 public:
  explicit HeatLog(HeatMeter meter) : meter_(std::move(meter)) {}

  void look(Seconds now);
  /// The same, if the last look is long enough ago.
  void look_sometimes(Seconds now);
  /// Nothing where no look found a temperature.
  [[nodiscard]] const std::optional<Heat>& heat() const { return heat_; }

 private:
  HeatMeter meter_;
  Seconds last_{};
  std::optional<Heat> heat_;
};

}  // namespace fulcrum::calibrate
