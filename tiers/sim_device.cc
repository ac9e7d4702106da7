#include "tiers/sim_device.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr Seconds kCacheLatency{2e-6};
constexpr std::size_t kRememberedStreams = 16;
constexpr double kDone = 1e-6;  // bytes left that count as none

double lognormal(Random& random, double deviation) {
  return deviation > 0 ? std::exp(deviation * random.normal()) : 1.0;
}

/// The same with a mean of 1: noise must not change a rate in the long run.
double fair_lognormal(Random& random, double deviation) {
  return lognormal(random, deviation) * std::exp(-deviation * deviation / 2);
}

void free_bytes(std::byte* bytes) {
  std::free(bytes);
}

}  // namespace

SimDevice::SimDevice(SimTruth truth, ManualClock& clock)
    : truth_(truth),
      clock_(clock),
      random_(Random(truth.seed).split("requests")),
      mood_random_(Random(truth.seed).split("mood")),
      // calloc leaves untouched pages to the kernel, so a large device costs only what is used of it.
      data_(static_cast<std::byte*>(std::calloc(static_cast<std::size_t>(truth.capacity.value()), 1)),
            free_bytes),
      cache_(truth.page_cache, truth.capacity),
      space_(truth.space),
      now_(clock.now()),
      started_(clock.now()),
      next_mood_(clock.now()) {
  FULCRUM_CHECK(data_ != nullptr, "no memory for the simulated device");
}

Geometry SimDevice::geometry() const {
  return {truth_.capacity, truth_.head, truth_.piece, truth_.alignment, truth_.depth_max};
}

DeviceIdentity SimDevice::identity() const {
  return {"(simulated)", "simfs", "sim0", "simulated device", "", "none"};
}

DeviceEvidence SimDevice::evidence() const {
  DeviceEvidence seen;
  seen.known = true;
  seen.resident_share = truth_.evidence_lies ? 0 : cache_.resident_share();
  seen.process_read = truth_.evidence_lies ? counters_.read_bytes : medium_read_;
  seen.device_read = seen.process_read;
  seen.process_written = medium_written_;
  seen.device_written = medium_written_;
  return seen;
}

Result<void> SimDevice::drop_cache() {
  if (truth_.drop_works) cache_.clear();
  return {};
}

Result<void> SimDevice::sync() {
  clock_.sleep(truth_.sync * lognormal(random_, truth_.noise));
  return {};
}

std::size_t SimDevice::stream_of(const IoRequest& request) {
  const auto end = request.offset + static_cast<std::int64_t>(request.buffer.size());
  // A load that comes past the place where another one ended long ago goes on as itself.
  std::size_t found = kNoStream;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].kind != request.kind || streams_[i].next_offset != request.offset) continue;
    if (found == kNoStream || streams_[i].in_flight > streams_[found].in_flight) found = i;
  }
  if (found != kNoStream) {
    streams_[found].next_offset = end;
    return found;
  }
  const Seconds setup =
      request.kind == IoKind::read ? truth_.setup * lognormal(random_, truth_.setup_spread) : Seconds(0);
  const Stream fresh{request.kind, end, now_ + setup, 0};
  if (streams_.size() >= kRememberedStreams) {
    const auto idle = std::find_if(streams_.begin(), streams_.end(),
                                   [](const Stream& stream) { return stream.in_flight == 0; });
    if (idle != streams_.end()) {
      *idle = fresh;
      return static_cast<std::size_t>(idle - streams_.begin());
    }
  }
  streams_.push_back(fresh);
  return streams_.size() - 1;
}

bool SimDevice::constant(const IoRequest& request) const {
  // The head of a block may differ (a stamp); compressors do not mind.
  constexpr std::size_t kHead = 64;
  const std::byte* bytes =
      request.kind == IoKind::write ? request.buffer.data() : data_.get() + request.offset;
  const std::size_t block = std::min<std::size_t>(4096, request.buffer.size());
  return std::all_of(bytes + kHead, bytes + block, [&](std::byte b) { return b == bytes[kHead]; });
}

Result<void> SimDevice::do_submit(const IoRequest& request) {
  advance(clock_.now());
  clock_.sleep(truth_.submit_cost);
  cpu_time_ += truth_.submit_cost;
  advance(clock_.now());

  Transfer transfer;
  transfer.request = request;
  transfer.submitted = now_;
  if (request.kind == IoKind::allocate || request.kind == IoKind::sync) {
    const Seconds time =
        request.kind == IoKind::sync ? truth_.sync * lognormal(random_, truth_.noise) : truth_.latency;
    transfer.ready = now_ + time;
    active_.push_back(transfer);
    return {};
  }
  transfer.cached = request.kind == IoKind::read && cache_.holds(request.offset, request.buffer.size());
  transfer.stream = stream_of(request);
  Stream& stream = streams_[transfer.stream];
  ++stream.in_flight;
  transfer.ready = transfer.cached ? now_ + kCacheLatency : std::max(now_, stream.ready) + truth_.latency;
  transfer.work = static_cast<double>(request.buffer.size()) * fair_lognormal(random_, truth_.noise);
  if (truth_.constant_speedup > 1 && constant(request)) transfer.work /= truth_.constant_speedup;
  active_.push_back(transfer);
  return {};
}

double SimDevice::write_rate() const {
  const bool full =
      truth_.write_cache > Bytes(0) && cache_level_ >= static_cast<double>(truth_.write_cache.value());
  return (full ? truth_.write_drain : truth_.write).value();
}

void SimDevice::share_out(IoKind kind, std::size_t stream, double rate) {
  for (Transfer& transfer : active_) {
    const bool mine = transfer.request.kind == kind && (kind == IoKind::write || transfer.stream == stream);
    if (!mine || transfer.cached || transfer.ready > now_) continue;
    transfer.rate = std::min(rate, truth_.lane.value());
    rate -= transfer.rate;
    if (rate <= 0) return;
  }
}

void SimDevice::set_rates() {
  bool writing = false;
  std::vector<std::size_t> reading;
  for (Transfer& transfer : active_) {
    transfer.rate = transfer.cached && transfer.ready <= now_ ? truth_.cache_rate.value() : 0;
    if (transfer.request.kind == IoKind::write) writing = true;
    const bool counts = transfer.request.kind == IoKind::read && !transfer.cached;
    if (counts && std::find(reading.begin(), reading.end(), transfer.stream) == reading.end())
      reading.push_back(transfer.stream);
  }
  const double throttle = now_ - started_ >= truth_.throttle_after ? truth_.throttle_share : 1;
  const double n = static_cast<double>(reading.size());
  const double share = truth_.single.value() / (1 + truth_.sigma * (n - 1) + truth_.k * n * (n - 1)) * mood_ *
                       throttle * (writing ? truth_.read_beside_write : 1);
  for (const std::size_t stream : reading) share_out(IoKind::read, stream, share);
  if (writing) share_out(IoKind::write, 0, write_rate() * mood_ * throttle);
}

bool SimDevice::over(const Transfer& transfer) const {
  return transfer.work <= kDone && transfer.ready <= now_;
}

void SimDevice::move(const Transfer& transfer) {
  const IoRequest& request = transfer.request;
  const auto size = request.buffer.size();
  const Bytes bytes{static_cast<std::int64_t>(size)};
  if (request.kind == IoKind::read) {
    std::memcpy(request.buffer.data(), data_.get() + request.offset, size);
    if (!transfer.cached) medium_read_ += bytes;
  } else {
    std::memcpy(data_.get() + request.offset, request.buffer.data(), size);
    medium_written_ += bytes;
    cache_level_ += static_cast<double>(size);
  }
  cache_.touch(request.offset, size);
}

void SimDevice::complete(const Transfer& transfer) {
  const IoRequest& request = transfer.request;
  if (transfer.stream != kNoStream) --streams_[transfer.stream].in_flight;
  done_.push_back({request.tag, request.kind, 0, now_ - transfer.submitted, {}});
  if (!space_.take(request)) {
    done_.back().result = os_error(ENOSPC, std::string(to_string(request.kind)), "simulated device");
    return;
  }
  if (transfer.stream != kNoStream) move(transfer);
  done_.back().bytes = static_cast<std::size_t>(size_of(request));
}

void SimDevice::progress(Seconds time) {
  const double step = (time - now_).value();
  now_ = time;
  cache_level_ = std::max(0.0, cache_level_ - truth_.write_drain.value() * step);
  for (Transfer& transfer : active_) transfer.work -= transfer.rate * step;
  for (const Transfer& transfer : active_) {
    if (over(transfer)) complete(transfer);
  }
  std::erase_if(active_, [this](const Transfer& transfer) { return over(transfer); });
}

void SimDevice::advance(Seconds until) {
  while (now_ < until) {
    if (active_.empty()) {
      progress(until);
      return;
    }
    if (truth_.mood > 0 && now_ >= next_mood_) {
      mood_ = fair_lognormal(mood_random_, truth_.mood);
      next_mood_ = now_ + truth_.mood_time;
    }
    set_rates();
    Seconds next = until;
    if (truth_.mood > 0) next = std::min(next, next_mood_);
    if (const Seconds limit = started_ + truth_.throttle_after; limit > now_) next = std::min(next, limit);
    for (const Transfer& transfer : active_) {
      if (transfer.ready > now_) {
        next = std::min(next, transfer.ready);
      } else if (transfer.work <= kDone) {
        next = now_;
      } else if (transfer.rate > 0) {
        next = std::min(next, now_ + Seconds(transfer.work / transfer.rate));
      }
    }
    // Rounding may leave the next event at this very instant; time must still move.
    const std::size_t before = done_.size();
    progress(std::max(next, Seconds(std::nextafter(now_.value(), until.value()))));
    if (done_.size() > before && clock_.now() < now_) return;
  }
}

Result<std::size_t> SimDevice::do_poll(std::span<IoCompletion> out, Seconds wait) {
  advance(clock_.now());
  if (done_.empty()) {
    // Idle devices answer after the full wait; busy ones stop the clock at the first completion.
    advance(clock_.now() + wait);
    clock_.advance_to(now_);
  }
  const std::size_t count = std::min(out.size(), done_.size());
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = done_.front();
    done_.pop_front();
  }
  return count;
}

}  // namespace fulcrum
