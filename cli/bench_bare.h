// BenchBare: the best bare loop over the rows of a store, the limit that `fulcrum bench io` holds the engine
// against.
//
// Threads: one at a time.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "tiers/device.h"
#include "tiers/uring_bare_loop.h"

namespace fulcrum::cli {

/// The setting of a tier of a profile, within what the bare loop takes.
[[nodiscard]] BareSetting bare_setting(const TierProfile& tier);
/// Processor time that this process has used so far, in seconds.
[[nodiscard]] double cpu_seconds();

class BenchBare {
 public:
  /// Tries `first` and six other settings, twice each, on the rows that the store in `directory` holds, in
  /// the order of their chain. Kinds: interrupted (`stop`), and those of StoreImage::open() and BareLoop.
  static Result<std::unique_ptr<BenchBare>> best(const std::string& directory, const BareSetting& first,
                                                 const std::atomic<bool>& stop);

  /// One run at the best setting, in bytes/s.
  Result<double> rate();
  [[nodiscard]] const BareSetting& setting() const { return setting_; }
  [[nodiscard]] const DeviceIdentity& device() const { return device_; }
  [[nodiscard]] const std::string& description() const { return loop_->description(); }
  /// Of each run since the setting was chosen: processor seconds for each GB.
  [[nodiscard]] const std::vector<double>& cpu() const { return cpu_; }

 private:
  BenchBare() = default;
  Result<double> rate_at(const BareSetting& setting);
  Result<void> choose(const BareSetting& first, const std::atomic<bool>& stop);

  SteadyClock clock_;
  DeviceIdentity device_;
  std::vector<BareRange> ranges_;
  double bytes_ = 0;
  std::unique_ptr<BareLoop> loop_;
  BareSetting setting_;
  std::vector<double> cpu_;
};

}  // namespace fulcrum::cli
