// The measurements of `fulcrum bench io` for one block size: rounds of the engine, the bare loop and the
// reference patterns over the same bytes, each round in another order. Ratios are medians over rounds, so
// that a drive whose speed wanders spoils none of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"
#include "tiers/uring_bare_loop.h"

namespace fulcrum::cli {

struct BenchIoOptions {
  std::string directory;
  Bytes block{};
  Bytes bytes{};  ///< of the long reload; written twice over
  int rounds = 5;
  std::size_t stores = 10'000;  ///< beside a stalled device
  MachineProfile profile;
  std::string tier;  ///< of the profile
  int gate = 4;      ///< loads at once; 0: from the profile
};

/// Rates in bytes/s and times in seconds are medians over rounds; ratios are medians of each round's ratio.
struct BenchIoRow {
  Bytes block{};
  std::size_t blocks = 0;
  int rounds = 0;
  BareSetting setting;  ///< the best of the bare loop, used by the engine as well
  DeviceIdentity device;
  std::string engine_io;  ///< what is really used, and why it is not better
  std::string bare_io;
  bool pattern_direct = true;
  double single = 0;      ///< engine, one long load
  double concurrent = 0;  ///< engine, 32 loads
  double bare = 0;
  double four_readers = 0;
  double thread_per_request = 0;
  double write = 0;
  double bare_write = 0;
  double single_ratio = 0;
  double concurrent_ratio = 0;
  double four_readers_ratio = 0;  ///< engine, 32 loads, over the pattern
  double thread_per_request_ratio = 0;
  double write_ratio = 0;
  double first_block_s = 0;           ///< engine, mean over 32 loads
  double four_readers_request_s = 0;  ///< until a request may begin, mean
  double thread_per_request_request_s = 0;
  double engine_cpu_s_per_GB = 0;  ///< cores for each GB/s
  double bare_cpu_s_per_GB = 0;
  std::vector<double> single_ratios;  ///< of each round
  std::vector<double> concurrent_ratios;
  std::vector<double> write_ratios;
};

/// How long store() takes while the device does not answer.
struct BenchStall {
  std::size_t calls = 0;
  std::size_t refused = 0;
  double p50_us = 0;
  double p999_us = 0;
  double most_us = 0;
};

/// Says what is being done.
using BenchTell = std::function<void(const std::string&)>;

/// Disk space that measure_io() needs.
[[nodiscard]] Bytes bench_io_space(Bytes block, Bytes bytes);
/// Kinds: interrupted, internal (wrong bytes: they are reported, never measured), and those of the engine.
[[nodiscard]] Result<BenchIoRow> measure_io(const BenchIoOptions& options, const std::atomic<bool>& stop,
                                            const BenchTell& tell);
[[nodiscard]] Result<BenchStall> measure_stall(const BenchIoOptions& options, const std::atomic<bool>& stop);

}  // namespace fulcrum::cli
