// TestDevice: a device in memory that knows what a crash would leave of it, and fails as it is told to.
//
// Crashes. What a write changes is not safe before a sync has covered it: pending() lists its sectors in
// order, crash(...) gives the image that is left where a crash keeps some of them, and a new device starts
// from that image. A sync covers the writes that had ended when it was submitted, in its own file
// (geometry.piece) only; one that fails covers nothing, and what it should have covered is never safe.
// A write that fails has changed the first half of its sectors.
//
//   TestDevice device(geometry, clock);            ... some traffic ...
//   for (std::uint64_t mask = 0; mask < 1ULL << device.pending().size(); ++mask) {
//     TestDevice after(geometry, clock, device.crash(mask));        ... what is found there? ...
//   }
//
// Time. Requests end latency + bytes / rate after their submission, times the slow() factor, on a
// ManualClock that poll() moves; without take_time() they end at once. Ends come in order of time, and in
// order of submission or shuffle()d among equals. stall() keeps them back until release().
//
// Faults: fail(), set_space(), complete_twice(), and change() for bytes changed by hand.
//
// Threads: one. Deterministic.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/random.h"
#include "tests/support/crash_medium.h"
#include "tiers/device.h"
#include "tiers/sim_space.h"

namespace fulcrum::test {

/// Requests that fail: `count` of them, from the `nth` on, counted from now among those that match.
struct DeviceFault {
  static constexpr std::uint64_t kAlways = std::numeric_limits<std::uint64_t>::max();
  int code = EIO;
  std::optional<IoKind> kind = std::nullopt;
  std::uint64_t nth = 1;
  std::uint64_t count = 1;
  std::int64_t begin = 0;  ///< only what touches [begin, end)
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

class TestDevice final : public Device {
 public:
  /// `clock` outlives the device. It holds zeros, or the image of an earlier one.
  TestDevice(const Geometry& geometry, ManualClock& clock, Image image = {})
      : geometry_(geometry), clock_(clock), medium_(geometry.capacity, std::move(image)) {
    FULCRUM_CHECK(geometry.alignment % SectorWrite::kSize == 0, "writes are whole sectors");
  }

  [[nodiscard]] Geometry geometry() const override { return geometry_; }
  [[nodiscard]] IoMode mode() const override { return {.uring = true, .direct = true}; }
  [[nodiscard]] DeviceIdentity identity() const override {
    return {"(test)", "testfs", "test0", "device of the tests", "", "none"};
  }
  Result<void> sync() override {
    medium_.cover(++events_, [](std::int64_t) { return true; });
    return {};
  }

  /// What a crash now may keep or lose, in order of submission.
  [[nodiscard]] std::vector<SectorWrite> pending() const { return medium_.pending(); }
  /// What a crash leaves that keeps the pending sectors chosen, by their place in pending()...
  [[nodiscard]] Image crash(const std::function<bool(std::size_t, const SectorWrite&)>& keeps) const {
    return medium_.crash(keeps);
  }
  /// ... by the bits of a mask, for at most 64 of them...
  [[nodiscard]] Image crash(std::uint64_t mask) const {
    FULCRUM_CHECK(pending().size() <= 64, "a mask has 64 bits");
    return crash([mask](std::size_t i, const SectorWrite&) { return ((mask >> i) & 1) != 0; });
  }
  /// ... or each with one half.
  [[nodiscard]] Image crash(Random& random) const {
    return crash([&random](std::size_t, const SectorWrite&) { return random.below(2) == 1; });
  }
  /// What reads see now: where the process dies and not its machine.
  [[nodiscard]] const Image& image() const { return medium_.live(); }
  /// Changes bytes behind everybody's back, durably.
  void change(const std::function<void(Image&)>& edit) { medium_.change(edit); }

  /// `rate` 0: bytes take no time.
  void take_time(Seconds latency, BytesPerSecond rate = {}) {
    latency_ = latency;
    rate_ = rate;
  }
  void slow(double factor) { factor_ = factor; }
  void shuffle(std::uint64_t seed) { shuffle_.emplace(seed); }
  /// Requests of this kind, or all, do not end before release(), whenever they were submitted.
  void stall(std::optional<IoKind> kind = std::nullopt) { stalled_.push_back(kind); }
  void release() { stalled_.clear(); }
  void fail(const DeviceFault& fault) { faults_.push_back({fault, 0}); }
  void mend() { faults_.clear(); }
  /// The next request that ends is reported twice.
  void complete_twice() { twice_ = true; }
  /// Bytes that allocations and writes may take in all; nothing: all of the capacity.
  void set_space(std::optional<Bytes> space) { space_.set_limit(space); }
  [[nodiscard]] Bytes space_taken() const { return space_.taken(); }
  /// Requests submitted so far, of all kinds.
  [[nodiscard]] std::uint64_t submitted() const { return submitted_; }

 private:
  struct Flight {
    IoRequest request;
    std::uint64_t number = 0;
    std::uint64_t event = 0;  ///< of the submission
    Seconds submitted{};
    Seconds ready{};
    int code = 0;
  };
  struct Planned {
    DeviceFault fault;
    std::uint64_t seen = 0;
  };

  Result<void> do_submit(const IoRequest& request) override {
    const double bytes = static_cast<double>(request.buffer.size());
    const Seconds work = latency_ + Seconds(rate_ > BytesPerSecond(0) ? bytes / rate_.value() : 0);
    const Seconds now = clock_.now();
    flights_.push_back({request, ++submitted_, ++events_, now, now + work * factor_, fate_of(request)});
    if (request.kind == IoKind::write) medium_.submit(submitted_, request.offset, request.buffer);
    return {};
  }

  int fate_of(const IoRequest& request) {
    const std::int64_t end = request.offset + std::max<std::int64_t>(size_of(request), 1);
    for (Planned& planned : faults_) {
      const DeviceFault& fault = planned.fault;
      if (request.offset >= fault.end || end <= fault.begin) continue;
      if (fault.kind && *fault.kind != request.kind) continue;
      ++planned.seen;
      if (planned.seen >= fault.nth && planned.seen - fault.nth < fault.count) return fault.code;
    }
    return 0;
  }

  /// The flight that ends next, or the end of the list.
  std::vector<Flight>::iterator next() {
    std::vector<std::vector<Flight>::iterator> first;  // equals
    for (auto flight = flights_.begin(); flight != flights_.end(); ++flight) {
      const IoKind kind = flight->request.kind;
      if (std::ranges::any_of(stalled_, [kind](const auto& held) { return held.value_or(kind) == kind; }))
        continue;
      if (!first.empty() && flight->ready < first.front()->ready) first.clear();
      if (first.empty() || flight->ready == first.front()->ready) first.push_back(flight);
    }
    if (first.empty()) return flights_.end();
    return first[shuffle_ ? shuffle_->below(first.size()) : 0];
  }

  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override {
    const Seconds deadline = clock_.now() + wait;
    std::size_t count = 0;
    while (count < out.size()) {
      const auto flight = next();
      if (flight == flights_.end() || flight->ready > (count > 0 ? clock_.now() : deadline)) break;
      clock_.advance_to(flight->ready);
      out[count++] = end(*flight);
      flights_.erase(flight);
      if (count < out.size() && std::exchange(twice_, false)) {
        out[count] = out[count - 1];
        ++count;
      }
    }
    if (count == 0) clock_.advance_to(deadline);
    return count;
  }

  IoCompletion end(Flight& flight) {
    const IoRequest& request = flight.request;
    ++events_;
    if (flight.code == 0 && !space_.take(request)) flight.code = ENOSPC;
    const std::int64_t size = size_of(request);
    if (request.kind == IoKind::write) {
      medium_.land(flight.number, request.offset + (flight.code == 0 ? size : size / 2), events_);
    } else if (request.kind == IoKind::sync) {
      const auto same_file = [&](std::int64_t offset) { return file_of(offset) == file_of(request.offset); };
      flight.code == 0 ? medium_.cover(flight.event, same_file) : medium_.forsake(flight.event, same_file);
    }
    IoCompletion out{request.tag, request.kind, 0, clock_.now() - flight.submitted, {}};
    if (flight.code != 0) {
      out.result = os_error(flight.code, std::string(to_string(request.kind)),
                            "test device at offset " + std::to_string(request.offset));
      return out;
    }
    if (request.kind == IoKind::read)
      std::memcpy(request.buffer.data(), image().data() + request.offset, request.buffer.size());
    out.bytes = static_cast<std::size_t>(size);
    return out;
  }

  [[nodiscard]] std::int64_t file_of(std::int64_t offset) const {
    if (geometry_.piece == Bytes(0) || offset < geometry_.head.value()) return 0;
    return 1 + (offset - geometry_.head.value()) / geometry_.piece.value();
  }

  Geometry geometry_;
  ManualClock& clock_;
  CrashMedium medium_;
  SimSpace space_;
  std::vector<Flight> flights_;
  std::vector<Planned> faults_;
  std::vector<std::optional<IoKind>> stalled_;
  std::optional<Random> shuffle_;
  Seconds latency_{};
  BytesPerSecond rate_{};
  double factor_ = 1;
  bool twice_ = false;
  std::uint64_t submitted_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace fulcrum::test
