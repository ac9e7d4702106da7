#include "cli/bench_writes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/errors.h"
#include "calibrate/stats.h"
#include "cli/bench_io.h"
#include "cli/bench_stall.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum::cli {
namespace {

constexpr std::int64_t kFileBytes = std::int64_t{256} << 20;
constexpr Bytes kMemory{std::int64_t{64} << 20};
constexpr std::size_t kStallChain = 8;  // blocks of a store
constexpr Seconds kPace{1e-4};
constexpr Seconds kSettle{5};

/// An errno, or 0.
int take_space(const std::string& path, std::int64_t bytes) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  const int code = fallocate(file, 0, 0, bytes) == 0 ? 0 : errno;
  close(file);
  return code == EOPNOTSUPP ? 0 : code;
}

}  // namespace

Result<double> engine_write_rate(const std::string& directory, BenchStoreOptions store, BenchBlocks& blocks,
                                 const std::atomic<bool>& stop) {
  const auto scratch = BenchScratch::make(directory);
  if (scratch.has_error()) return scratch.error();
  store.directory = (*scratch)->path();
  const auto opened = BenchStore::open(store, stop);
  if (opened.has_error()) return opened.error();
  const auto elapsed = (*opened)->store(blocks, blocks.count());
  if (elapsed.has_error()) return elapsed.error();
  return static_cast<double>(blocks.row().value()) * static_cast<double>(blocks.count()) / elapsed->value();
}

Result<double> bare_write_rate(const std::string& directory, Bytes bytes, const BareSetting& setting,
                               const std::atomic<bool>& stop) {
  if (stop) return bench_stopped();
  const auto scratch = BenchScratch::make(directory);
  if (scratch.has_error()) return scratch.error();
  std::vector<std::string> paths;
  std::vector<BareRange> ranges;
  for (std::int64_t done = 0; done < bytes.value(); done += kFileBytes) {
    paths.push_back((*scratch)->path() + "/" + std::to_string(paths.size()));
    ranges.push_back({ranges.size(), 0, std::min(kFileBytes, bytes.value() - done)});
  }
  for (const std::string& path : paths) {  // open() wants them to exist
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return os_error(errno, "make", path);
    close(file);
  }
  const auto loop = BareLoop::open(paths, kMemory);
  if (loop.has_error()) return loop.error();
  const SteadyClock clock;
  const Seconds start = clock.now();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (const int code = take_space(paths[i], ranges[i].bytes); code != 0) {
      return os_error(code, "take space for", paths[i]);
    }
  }
  if (auto written = (*loop)->write(ranges, setting); written.has_error()) return written.error();
  return static_cast<double>(bytes.value()) / (clock.now() - start).value();
}

Result<BenchStall> measure_stall(const BenchIoOptions& options, const std::atomic<bool>& stop) {
  const auto scratch = BenchScratch::make(options.directory);
  if (scratch.has_error()) return scratch.error();
  StallSwitch held;
  BenchStoreOptions store;
  store.directory = (*scratch)->path();
  store.row = options.block;
  store.blocks = std::max<std::size_t>(64, static_cast<std::size_t>(kMemory / options.block));
  store.staging = std::max(kMemory * 4, options.block * 16);
  store.profile = options.profile;
  store.tier = options.tier;
  const auto opened = BenchStore::open(store, stop, [&](const std::string&, std::unique_ptr<Device> device) {
    return std::make_unique<StallDevice>(std::move(device), held);
  });
  if (opened.has_error()) return opened.error();
  auto rows = AlignedBuffer::allocate(kStallChain * static_cast<std::size_t>(options.block.value()));
  if (rows.has_error()) return rows.error();
  held.stall();
  SteadyClock clock;
  BenchStall stall;
  std::vector<double> times;
  for (std::size_t i = 0; i < options.stores && !stop; ++i) {
    const BenchBlocks chain(options.block, kStallChain, static_cast<std::int32_t>(i + 1));
    StoreRequest request;
    request.chain.assign(chain.keys().begin(), chain.keys().end());
    for (std::size_t block = 0; block < kStallChain; ++block) {
      request.rows.push_back(rows->data() + block * static_cast<std::size_t>(options.block.value()));
    }
    const Seconds start = clock.now();
    const Result<void> taken = (*opened)->engine().store(std::move(request));
    times.push_back((clock.now() - start).value() * 1e6);
    if (taken.has_error()) ++stall.refused;
    clock.sleep(kPace);
  }
  held.release();
  (*opened)->engine().close(kSettle);  // before the rows that it may still copy
  if (stop) return bench_stopped();
  stall.calls = times.size();
  stall.p50_us = calibrate::quantile(times, 0.5);
  stall.p999_us = calibrate::quantile(times, 0.999);
  stall.most_us = calibrate::quantile(times, 1);
  return stall;
}

}  // namespace fulcrum::cli
