// MachineProfile: what calibration found on one machine. Immutable once written.
//
// Stored as YAML: schema version, units in the keys, every number with interval, samples and verdict, and
// the identity of the hardware it was measured on. Raw samples stand beside it in a .samples.csv.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fulcrum/cost.h"
#include "fulcrum/measured.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

/// What a tier's bytes rest on.
enum class Medium { dram, flash, hdd, pool };
[[nodiscard]] std::string_view to_string(Medium medium);

/// How bytes are asked for. The profile always says what was really used, never what was wished for.
struct IoMode {
  bool uring = false;   ///< io_uring; otherwise a pool of threads with pread/pwrite
  bool direct = false;  ///< O_DIRECT; otherwise through the page cache
  bool operator==(const IoMode&) const = default;
};

/// A PCI Express link: what it runs at, and what both ends could do. 0: the kernel does not say.
struct PcieLink {
  int lanes = 0;
  double transfers = 0;  ///< GT/s of one lane
  int lanes_most = 0;
  double transfers_most = 0;
  bool operator==(const PcieLink&) const = default;

  [[nodiscard]] bool known() const { return lanes > 0 && transfers > 0; }
};

/// Who was measured: compared when the profile is used on a machine.
struct DeviceIdentity {
  std::string path;         ///< directory that was measured
  std::string filesystem;   ///< "ext4", "xfs", "tmpfs"
  std::string device;       ///< kernel name, e.g. "nvme0n1"; empty where there is none
  std::string model;        ///< drive model, empty where the kernel does not say
  std::string serial_hash;  ///< hash of the serial, so that the profile can be shared
  std::string scheduler;
  std::string firmware = {};                    ///< revision; empty where the kernel does not say
  PcieLink pcie = {};                           ///< of the drive or of its controller
  std::optional<int> numa_node = std::nullopt;  ///< that the drive is attached to
  bool operator==(const DeviceIdentity&) const = default;
};

/// Temperature of a drive around its measurement, in degrees Celsius.
struct Heat {
  double before = 0;
  double hottest = 0;
  double after = 0;
  std::optional<double> limit = std::nullopt;  ///< where the drive begins to slow itself down
  bool operator==(const Heat&) const = default;
};

/// One cell of the read or write surface.
struct SurfacePoint {
  Bytes io_size{};
  int depth = 1;  ///< requests in flight of one load
  int loads = 1;  ///< loads at once
  Measured<BytesPerSecond> rate;
  Seconds latency_p50{};
  Seconds latency_p99{};
  bool operator==(const SurfacePoint&) const = default;
};

/// How long a full write cache must rest before it takes a short burst at its burst rate again. The interval
/// lies between the last rest that was too short and the first that was enough.
struct Recovery {
  Bytes burst{};
  Measured<Seconds> rest;
  bool operator==(const Recovery&) const = default;
};

/// A write ramp in full mode: what a drive does when its cache is full.
struct Sustained {
  Measured<BytesPerSecond> burst;
  Measured<BytesPerSecond> sustained;
  Bytes burst_bytes{};  ///< written before the rate fell; equal to all bytes written if it never fell
  std::optional<Recovery> recovery = std::nullopt;  ///< nothing: no cache was seen, or it was not waited for
};

struct TierProfile {
  std::string name;
  Medium medium = Medium::flash;
  DeviceIdentity device;
  IoMode io;
  Bytes space{};    ///< size of its filesystem, or of memory for dram; 0: not known
  Bytes io_size{};  ///< I/O size and depth that the numbers below were taken at
  int depth = 1;
  Measured<Seconds> setup;        ///< l: time to the first byte of a load
  Measured<BytesPerSecond> read;  ///< X1: one load alone
  Measured<double> sigma;         ///< contention law
  Measured<double> k;
  Measured<BytesPerSecond> write;       ///< sustained where full mode measured it, burst otherwise
  Measured<Bytes> commit_half;          ///< g_1/2 of the commit law
  Measured<double> read_during_writes;  ///< read rate beside write-back, as a share of idle
  std::optional<Measured<double>> far_node_penalty;  ///< dram: time of a copy from another NUMA node / own
  std::optional<Sustained> ramp;
  std::optional<Heat> heat;  ///< nothing where the drive has no sensor that can be read
  std::vector<SurfacePoint> reads;
  std::vector<SurfacePoint> writes;
  std::vector<std::string> findings;   ///< one sentence each: what calibration noticed
  Verdict verdict = Verdict::invalid;  ///< worst of what the numbers above rest on

  [[nodiscard]] TransferLaw transfer() const;       ///< at the measured values
  [[nodiscard]] TransferLaw transfer_slow() const;  ///< at the conservative ends of the intervals
  [[nodiscard]] CommitLaw commit() const;
};

/// Where the prefill numbers come from.
enum class PrefillSource { none, csv, server, datasheet, probe };
[[nodiscard]] std::string_view to_string(PrefillSource source);

struct PrefillProfile {
  PrefillSource source = PrefillSource::none;
  std::string gpu;  ///< name of the GPU or of the server
  std::string model;
  BytesPerToken kv_bytes_per_token{};
  Bytes kv_bytes_fixed{};
  PrefillCost cost;
  int samples = 0;
};

/// What made this profile, where and when.
struct Provenance {
  std::string tool_version;
  std::string command;
  std::string created_utc;  ///< ISO 8601
  std::uint64_t seed = 0;
  std::string mode;  ///< "quick" or "full"
  std::string kernel;
  std::string cpu;
  int cores = 0;
  Bytes memory{};
};

struct MachineProfile {
  static constexpr int kSchema = 1;

  Provenance provenance;
  std::vector<TierProfile> tiers;  ///< fastest first
  std::optional<PrefillProfile> prefill;
  std::vector<std::string> findings;  ///< about the whole, e.g. that it was edited by hand

  /// The tier of that name, or null pointer.
  [[nodiscard]] const TierProfile* tier(std::string_view name) const;

  /// Strict load: unknown, missing, duplicate or impossible values are all reported at once.
  /// Kinds: not_found, permission, bad_input (contents), mismatch (another schema), corrupt (changed after
  /// it was written; without its checksum line a file is accepted, with a finding).
  static Result<MachineProfile> load(const std::string& path);
  static Result<MachineProfile> parse(const std::string& text, const std::string& where);
  /// Atomic: a reader sees the old file or the new one. Refuses to write what load() would not read.
  /// Kinds: those of base/atomic_file.h; bad_input for impossible numbers.
  [[nodiscard]] Result<void> save(const std::string& path) const;
  [[nodiscard]] std::string to_yaml() const;
};

}  // namespace fulcrum
