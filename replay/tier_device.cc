#include "replay/tier_device.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fulcrum::replay {

TierDevice::TierDevice(const TierProfile& profile, const DeviceTruth& truth, Random random)
    : contention_(profile.transfer().contention),
      setup_(profile.setup.value * truth.setup_scale),
      write_rate_(profile.write.value.value() * truth.bandwidth_scale),
      read_during_writes_(profile.read_during_writes.value),
      noise_(truth.noise),
      random_(random) {
  contention_.single = contention_.single * truth.bandwidth_scale;
  FULCRUM_CHECK(contention_.single.value() > 0, "a device needs a read rate");
  if (!(write_rate_ > 0)) write_rate_ = contention_.single.value();
  if (!(read_during_writes_ > 0)) read_during_writes_ = 1;
}

double TierDevice::noisy(Bytes bytes) {
  const auto exact = static_cast<double>(bytes.value());
  return noise_ > 0 ? exact * std::exp(noise_ * random_.normal()) : exact;
}

void TierDevice::start_read(std::uint64_t id, Bytes bytes, Seconds now) {
  step_to(now);
  const Seconds end = now + setup_;
  const bool fresh = reads_.emplace(id, Read{Phase::setup, bytes, noisy(bytes), end.value()}).second;
  FULCRUM_CHECK(fresh, "a transfer id is used once");
  setups_.emplace(end.value(), id);
  most_reads_at_once_ = std::max(most_reads_at_once_, static_cast<int>(reads_.size()));
  ++generation_;
}

void TierDevice::start_write(std::uint64_t id, Bytes bytes, Seconds now) {
  step_to(now);
  writes_.push_back(Write{id, bytes, noisy(bytes)});
  if (writes_.size() == 1) begin_write(now);
  ++generation_;
}

void TierDevice::begin_write(Seconds now) {
  write_end_ = now + Seconds(writes_.front().work / write_rate_);
}

double TierDevice::share_rate() const {
  if (transfers_.empty()) return 0;
  const auto loads = static_cast<int>(transfers_.size());
  const double slow_down = writes_.empty() ? 1.0 : read_during_writes_;
  return contention_.throughput(loads).value() * slow_down / loads;
}

void TierDevice::step_to(Seconds time) {
  if (time <= last_) return;
  ++generation_;  // the rounding of a forecast depends on where it was made
  served_ += share_rate() * (time - last_).value();
  last_ = time;
}

Seconds TierDevice::next_finish() const {
  if (transfers_.empty()) return kIdle;
  const double left = std::max(0.0, transfers_.begin()->first - served_);
  return last_ + Seconds(left / share_rate());
}

Seconds TierDevice::next() const {
  const Seconds setup = setups_.empty() ? kIdle : Seconds(setups_.begin()->first);
  return std::min({setup, next_finish(), write_end_});
}

void TierDevice::begin_transfer(std::uint64_t id) {
  Read& read = reads_.at(id);
  read.phase = Phase::transfer;
  read.finish = served_ + read.work;
  transfers_.emplace(read.finish, id);
}

void TierDevice::advance(Seconds now, std::vector<std::uint64_t>& finished) {
  for (Seconds time = next(); time <= now; time = next()) {
    const bool transfer_ends = next_finish() <= time;
    step_to(time);
    ++generation_;
    if (!setups_.empty() && setups_.begin()->first <= time.value()) {
      const std::uint64_t id = setups_.begin()->second;
      setups_.erase(setups_.begin());
      begin_transfer(id);
    } else if (transfer_ends) {
      const auto [level, id] = *transfers_.begin();
      served_ = std::max(served_, level);  // rounding must not leave a last fraction of a byte
      transfers_.erase(transfers_.begin());
      bytes_read_ += reads_.at(id).bytes;
      reads_.erase(id);
      finished.push_back(id);
    } else {
      finished.push_back(writes_.front().id);
      bytes_written_ += writes_.front().bytes;
      writes_.pop_front();
      write_end_ = kIdle;
      if (!writes_.empty()) begin_write(time);
    }
  }
  step_to(now);
}

double TierDevice::progress(std::uint64_t id, Seconds now) {
  step_to(now);
  const auto found = reads_.find(id);
  if (found == reads_.end() || found->second.phase == Phase::setup) return 0;
  const Read& read = found->second;
  if (!(read.work > 0)) return 1;
  return std::clamp(1 - (read.finish - served_) / read.work, 0.0, 1.0);
}

double TierDevice::cancel(std::uint64_t id, Seconds now) {
  const double moved = progress(id, now);
  ++generation_;
  if (const auto found = reads_.find(id); found != reads_.end()) {
    const Read& read = found->second;
    (read.phase == Phase::setup ? setups_ : transfers_).erase({read.finish, id});
    bytes_read_ += Bytes(std::llround(moved * static_cast<double>(read.bytes.value())));
    reads_.erase(found);
    return moved;
  }
  const auto write =
      std::find_if(writes_.begin(), writes_.end(), [id](const Write& w) { return w.id == id; });
  if (write == writes_.end()) return 0;
  const bool running = write == writes_.begin();
  writes_.erase(write);
  if (running) {
    write_end_ = kIdle;
    if (!writes_.empty()) begin_write(now);
  }
  return 0;
}

}  // namespace fulcrum::replay
