// LoadRunner: puts one kind of traffic on a device and times it. Everything the storage probe knows comes
// from here, and all of it goes through Device, the face that the file tier uses.
//
// A load is a stream of contiguous transfers of io_size bytes, `depth` of them in flight. steady() keeps
// `loads` such streams going and counts what completes inside a window after a warm-up, so that neither
// filling nor draining the pipeline is in the rate; transfer() moves one range from first submit to last
// completion, as a request that waits for its prefix sees it.
//
// Sizes and offsets are multiples of 4 KiB. Threads: one. `stop` may be raised from anywhere; a call then
// ends within a poll (50 ms) and what is in flight, and answers `interrupted`. The device holds no buffer
// after a call returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "calibrate/cpu_meter.h"
#include "calibrate/payload.h"
#include "calibrate/tally.h"
#include "fulcrum/result.h"
#include "tiers/aligned_buffer.h"
#include "tiers/device.h"

namespace fulcrum::calibrate {

struct LoadSpec {
  IoKind kind = IoKind::read;
  Bytes io_size{};
  int depth = 1;
  int loads = 1;
  BytesPerSecond beside{};  ///< rate of one stream of writes beside the loads; 0: none

  [[nodiscard]] Bytes in_flight() const { return io_size * (std::int64_t{depth} * loads); }
};

struct Window {
  Seconds warm_up{0.01};  ///< and not before as much has moved as is kept in flight
  Seconds length{0.1};
  Seconds cap{2};                                        ///< a run ends here, however little has moved
  Bytes most{std::numeric_limits<std::int64_t>::max()};  ///< or once so much has moved since the warm-up
};

class LoadRunner {
 public:
  /// `arena` bounds the bytes in flight. Device, clock and `stop` must outlive the runner. Kinds: no_memory.
  static Result<LoadRunner> create(Device& device, Clock& clock, Payload payload, Bytes arena, CpuMeter cpu,
                                   const std::atomic<bool>& stop, std::uint64_t seed);

  /// Kinds, here and below: interrupted, those of Device, bad_input (more in flight than the arena holds).
  Result<RunResult> steady(const LoadSpec& spec, const Window& window);
  /// Moves [offset, offset + bytes). Writing at filled() extends it.
  Result<RunResult> transfer(IoKind kind, std::int64_t offset, Bytes bytes, Bytes io_size, int depth);
  /// Writes runs of `size` bytes at random places, each made durable by sync(), for the window's length.
  Result<RunResult> commits(Bytes size, Bytes io_size, int depth, const Window& window);
  /// Checks every byte of [offset, offset + bytes). Result: sectors that are not what was written.
  Result<std::int64_t> verify(std::int64_t offset, Bytes bytes, Bytes io_size);

  /// Never writes more than this in all: a write beyond it is left out, and its run is `limited`.
  void set_write_most(Bytes most) { write_most_ = most; }
  /// The last run met that limit: its result is worth nothing.
  [[nodiscard]] bool limited() const { return limited_; }

  /// A random multiple of `align` such that [offset, offset + bytes) is filled.
  [[nodiscard]] std::int64_t random_place(Bytes bytes, Bytes align);
  /// Leading bytes of the device that hold payload; nothing beyond is read.
  [[nodiscard]] Bytes filled() const { return filled_; }
  /// Most requests of this size that arena and device allow in flight.
  [[nodiscard]] int most_in_flight(Bytes io_size) const;

 private:
  struct Stream {
    IoKind kind = IoKind::read;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t next = 0;
    bool endless = true;  ///< starts again at `begin`
  };
  struct Slot {
    std::size_t stream = 0;
    std::int64_t offset = 0;
    std::size_t size = 0;
  };

  LoadRunner(Device& device, Clock& clock, Payload payload, AlignedBuffer arena, CpuMeter cpu,
             const std::atomic<bool>& stop, std::uint64_t seed);
  [[nodiscard]] Result<void> fits(Bytes io_size, int requests) const;
  void lay_out(const LoadSpec& spec);
  /// Submits the next request of the slot's stream; does nothing at the stream's end or the write limit.
  Result<void> start(std::size_t slot);
  Result<void> start_all();
  /// Polls once; finished slots are in idle_.
  Result<void> collect(Seconds wait, Tally& tally);
  Result<void> run_window(const LoadSpec& spec, const Window& window, Tally& tally);
  Result<void> run_to_end(Tally& tally);
  /// Waits for what is in flight, then passes `outcome` on.
  Result<void> drain(Result<void> outcome);

  Device* device_;
  Clock* clock_;
  Payload payload_;
  AlignedBuffer arena_;
  CpuMeter cpu_;
  const std::atomic<bool>* stop_;
  Random random_;
  Bytes filled_{};
  Bytes io_size_{};  ///< of the run in progress
  bool check_all_ = false;
  Bytes write_most_{std::numeric_limits<std::int64_t>::max()};
  Bytes written_{};  ///< submitted so far
  bool limited_ = false;
  std::vector<Stream> streams_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> idle_;
  std::vector<IoCompletion> completions_;
};

}  // namespace fulcrum::calibrate
