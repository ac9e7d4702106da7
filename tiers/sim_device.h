// SimDevice: a device in virtual time whose truth is known, to test what measures and what schedules.
//
// poll() moves the ManualClock to the next completion, so a minute of traffic takes milliseconds. Bytes are
// really stored and copied. Requests that continue where an earlier one of the same kind ended belong to
// one stream (a load); a request that does not opens a new stream and pays the set-up. N streams share
//   X(N) = single * N / (1 + sigma*(N-1) + k*N*(N-1))
// equally; inside a stream requests are served front to back, none faster than `lane`. The truth may also
// hold what real devices do to mislead: caches, compression, throttling, false evidence. Space may run out:
// allocations and writes take it, and fail where it is used up.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "tiers/device.h"
#include "tiers/sim_page_cache.h"
#include "tiers/sim_space.h"

namespace fulcrum {

/// What the simulated device really does.
struct SimTruth {
  Bytes capacity{std::int64_t{64} << 20};
  Bytes head{};   ///< as in Geometry
  Bytes piece{};  ///< as in Geometry
  std::size_t alignment = 4096;
  std::size_t depth_max = 256;
  std::optional<Bytes> space;  ///< what allocations and writes can take in all; nothing: all of the capacity
  IoMode mode{true, true};
  std::uint64_t seed = 1;

  Seconds setup{100e-6};     ///< median extra latency of the first request of a read stream
  double setup_spread = 0;   ///< standard deviation of its logarithm
  Seconds latency{20e-6};    ///< of every request; overlaps with other requests
  BytesPerSecond lane{8e9};  ///< one request alone goes no faster
  BytesPerSecond single{3e9};
  double sigma = 0.3;
  double k = 0.01;

  BytesPerSecond write{2e9};        ///< all writes together
  Seconds sync{200e-6};             ///< of a sync
  Bytes write_cache{};              ///< bytes that are taken at `write`; 0: no such cache
  BytesPerSecond write_drain{1e9};  ///< rate once the write cache is full
  double read_beside_write = 1;     ///< read rate while a write is in flight, as a share

  double noise = 0;  ///< deviation of the logarithm of one request's work
  double mood = 0;   ///< deviation of the logarithm of the whole device's rate, redrawn every mood_time
  Seconds mood_time{0.05};

  Bytes page_cache{};  ///< recently used bytes that are answered at cache_rate
  BytesPerSecond cache_rate{2e10};
  bool drop_works = true;       ///< drop_cache() empties the page cache
  bool evidence_lies = false;   ///< evidence() claims that all came from the medium
  double constant_speedup = 1;  ///< blocks of one repeated value move this much faster
  Seconds throttle_after{std::numeric_limits<double>::infinity()};  ///< of activity
  double throttle_share = 1;                                        ///< all rates from then on
  Seconds submit_cost{};  ///< processor time that every submit takes from the caller
};

class SimDevice final : public Device {
 public:
  /// `clock` must outlive the device.
  SimDevice(SimTruth truth, ManualClock& clock);

  [[nodiscard]] Geometry geometry() const override;
  [[nodiscard]] IoMode mode() const override { return truth_.mode; }
  [[nodiscard]] DeviceIdentity identity() const override;
  [[nodiscard]] DeviceEvidence evidence() const override;
  Result<void> drop_cache() override;
  Result<void> sync() override;
  /// Processor time that submitting has cost so far.
  [[nodiscard]] Seconds cpu_time() const { return cpu_time_; }
  /// The filesystem fills up, or space comes free again. What was taken stays taken.
  void set_space(std::optional<Bytes> space) { space_.set_limit(space); }
  [[nodiscard]] Bytes space_taken() const { return space_.taken(); }

 protected:
  Result<void> do_submit(const IoRequest& request) override;
  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override;

 private:
  struct Stream {
    IoKind kind = IoKind::read;
    std::int64_t next_offset = 0;
    Seconds ready{};  ///< when its set-up is over
    int in_flight = 0;
  };
  static constexpr std::size_t kNoStream = std::numeric_limits<std::size_t>::max();
  struct Transfer {
    IoRequest request;
    std::size_t stream = kNoStream;
    bool cached = false;
    Seconds submitted{};
    Seconds ready{};
    double work = 0;  ///< bytes left, scaled by noise and compression
    double rate = 0;
  };

  std::size_t stream_of(const IoRequest& request);
  [[nodiscard]] bool constant(const IoRequest& request) const;
  void set_rates();
  void share_out(IoKind kind, std::size_t stream, double rate);
  [[nodiscard]] double write_rate() const;
  void advance(Seconds until);
  void progress(Seconds time);
  [[nodiscard]] bool over(const Transfer& transfer) const;
  void move(const Transfer& transfer);
  void complete(const Transfer& transfer);

  SimTruth truth_;
  ManualClock& clock_;
  Random random_;
  Random mood_random_;
  std::unique_ptr<std::byte[], void (*)(std::byte*)> data_;
  SimPageCache cache_;
  SimSpace space_;
  std::vector<Stream> streams_;
  std::vector<Transfer> active_;  ///< in order of submission
  std::deque<IoCompletion> done_;
  Seconds now_{};
  Seconds started_;
  Seconds next_mood_{};
  double mood_ = 1;
  double cache_level_ = 0;  ///< bytes in the write cache
  Seconds cpu_time_{};
  Bytes medium_read_{};
  Bytes medium_written_{};
};

}  // namespace fulcrum
