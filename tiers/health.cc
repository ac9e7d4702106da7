#include "tiers/health.h"

#include <algorithm>
#include <utility>

namespace fulcrum {
namespace {

/// Writes are refused for a reason outside the device: reading goes on.
bool refuses(ErrorKind kind) {
  return kind == ErrorKind::no_space || kind == ErrorKind::quota || kind == ErrorKind::read_only ||
         kind == ErrorKind::permission;
}

/// The device answers wrongly or not at all. A checksum that fails is not the device's word.
bool is_failure(ErrorKind kind) {
  return kind != ErrorKind::corrupt && kind != ErrorKind::not_found && kind != ErrorKind::interrupted &&
         kind != ErrorKind::busy;
}

}  // namespace

void HealthMonitor::on_read(const Result<void>& result, Seconds now) {
  if (result.has_error() && is_failure(result.error().kind)) on_failure(result.error(), now);
}

void HealthMonitor::on_write(const Result<void>& result, Seconds now) {
  if (!result.has_error()) return;
  const Error& error = result.error();
  if (!refuses(error.kind)) {
    if (is_failure(error.kind)) on_failure(error, now);
    return;
  }
  on_unwritable(error, now);
}

void HealthMonitor::on_unwritable(const Error& error, Seconds now) {
  if (health_ != Health::healthy) return;
  move(Health::degraded, error.message(), now);
  if (error.kind == ErrorKind::read_only) {
    probe_interval_ = limits_.probe_longest;
    probe_at_ = now + probe_interval_;
  }
}

void HealthMonitor::on_failure(const Error& error, Seconds now) {
  if (health_ != Health::healthy && health_ != Health::degraded) return;
  if (failures_ == 0 || now - window_start_ > limits_.window) {
    window_start_ = now;
    failures_ = 0;
  }
  if (++failures_ < limits_.failures) return;
  move(Health::disabled,
       std::to_string(failures_) + " failures within " + std::to_string(limits_.window.value()) +
           " s, the last one: " + error.message(),
       now);
}

void HealthMonitor::on_dead(std::string reason) {
  if (health_ == Health::dead) return;
  health_ = Health::dead;
  reason_ = std::move(reason);
  probe_at_.reset();
  ++changes_;
}

void HealthMonitor::on_probe_started(Seconds now) {
  if (health_ == Health::healthy || health_ == Health::dead) return;
  probe_interval_ = std::min(probe_interval_ * 2, limits_.probe_longest);
  probe_at_ = now + probe_interval_;
}

void HealthMonitor::on_probe(const Result<void>& result, Seconds now) {
  if (health_ == Health::healthy || health_ == Health::dead) return;
  if (result.has_error()) {
    reason_ = result.error().message();
    return;
  }
  if (health_ == Health::disabled) {
    // It answers again: reads may come; the next probe decides about writes.
    move(Health::degraded, "it answers again after: " + reason_, now);
  } else {
    move(Health::healthy, {}, now);
  }
}

void HealthMonitor::move(Health to, std::string reason, Seconds now) {
  const bool relapse = changes_ > 0 && now - healthy_since_ <= limits_.window;
  if (health_ == Health::healthy && !relapse) probe_interval_ = limits_.probe_first;
  health_ = to;
  reason_ = std::move(reason);
  failures_ = 0;
  ++changes_;
  probe_at_.reset();
  if (to == Health::healthy) {
    healthy_since_ = now;
  } else {
    probe_at_ = now + probe_interval_;
  }
}

}  // namespace fulcrum
