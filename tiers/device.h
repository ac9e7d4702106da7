// Device: aligned reads and writes at offsets, many in flight. Knows nothing of what the bytes mean.
//
// Offsets are places in one flat space, of one file or of many. A device of many files keeps each transfer
// within one of them (geometry().piece).
//
// A non-virtual face over few virtuals: the face checks arguments, limits depth and counts; a subclass
// moves bytes. FileDevice (a real file), SimDevice (virtual time, known truth) and the decorators of the
// tests join one contract suite, tests/tiers/device_contract.h.
//
// Buffers belong to the device from submit() until their completion has been polled, also after a failure.
// They must outlive the device where it is destroyed with requests in flight.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

enum class IoKind : std::uint8_t {
  read,
  write,
  allocate,  ///< takes space for a range, so that writes there do not meet a full disk
  sync,      ///< makes durable the writes that had ended when it was submitted, in the file of its offset
};

/// One transfer. Offset, size and buffer address are multiples of geometry().alignment.
struct IoRequest {
  IoKind kind = IoKind::read;
  std::int64_t offset = 0;
  std::span<std::byte> buffer;  ///< empty for allocate and sync
  std::uint64_t tag = 0;        ///< comes back with the completion
  std::int64_t length = 0;      ///< of allocate
};

[[nodiscard]] std::string_view to_string(IoKind kind);
/// Bytes that the request concerns; 0 for sync.
[[nodiscard]] std::int64_t size_of(const IoRequest& request);

struct IoCompletion {
  std::uint64_t tag = 0;
  IoKind kind = IoKind::read;
  std::size_t bytes = 0;  ///< size_of() the request on success: short transfers are resumed inside
  Seconds latency{};      ///< submit to completion, on the device's clock
  Result<void> result;    ///< kinds: no_space, quota, read_only, device, timed_out, ...
};

struct Geometry {
  Bytes capacity{};
  Bytes head{};   ///< the first piece, where it has another size; 0: none such
  Bytes piece{};  ///< transfers may not cross a multiple of this behind the head; 0: no such limit
  std::size_t alignment = 4096;
  std::size_t depth_max = 256;  ///< requests in flight
};

struct DeviceCounters {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  Bytes read_bytes{};
  Bytes write_bytes{};
  std::uint64_t errors = 0;   ///< transfers that failed; refused requests are not counted
  std::uint64_t resumed = 0;  ///< short transfers that were continued
};

/// What the operating system says happened below the file: proof that the medium was read.
struct DeviceEvidence {
  bool known = false;         ///< false where the system does not say
  double resident_share = 0;  ///< share of the file's pages in the page cache, 0..1
  Bytes process_read{};       ///< bytes that this process made the storage layer fetch
  Bytes device_read{};        ///< bytes that the block device read
  Bytes process_written{};
  Bytes device_written{};
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Starts a transfer, at the latest with the next poll(). Never blocks. Kinds: busy (depth_max in flight),
  /// bad_input (misaligned or out of range), device.
  Result<void> submit(const IoRequest& request);
  /// Collects up to out.size() completions; waits up to `wait` for the first one. 0 after a full wait,
  /// and at once where nothing is in flight or `out` is empty. Kinds: device (nothing can be collected).
  Result<std::size_t> poll(std::span<IoCompletion> out, Seconds wait);
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
  [[nodiscard]] const DeviceCounters& counters() const { return counters_; }

  [[nodiscard]] virtual Geometry geometry() const = 0;
  [[nodiscard]] virtual IoMode mode() const = 0;
  [[nodiscard]] virtual DeviceIdentity identity() const = 0;
  /// Readings of the system's counters now; take differences.
  [[nodiscard]] virtual DeviceEvidence evidence() const { return {}; }
  /// Drops cached pages of the file where the system allows it.
  virtual Result<void> drop_cache() { return {}; }
  /// Makes written bytes durable.
  virtual Result<void> sync() { return {}; }
  /// Whether the next process will find what is written: not where files were removed under this one. Looks
  /// at a few places, by turns: give the number of the look. Kinds: not_found.
  [[nodiscard]] virtual Result<void> in_place(std::uint64_t /*look*/) const { return {}; }
  /// Ends a poll() that waits in another thread, or else the wait of the next one. Thread-safe, unlike the
  /// rest.
  virtual void wake() {}

 protected:
  Device() = default;
  virtual Result<void> do_submit(const IoRequest& request) = 0;
  virtual Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) = 0;
  DeviceCounters counters_;

 private:
  std::size_t in_flight_ = 0;
};

}  // namespace fulcrum
