#include "cli/bench_io.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <latch>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/document.h"
#include "base/errors.h"
#include "base/random.h"
#include "calibrate/stats.h"
#include "cli/bench_bare.h"
#include "cli/bench_patterns.h"
#include "cli/bench_stall.h"
#include "cli/bench_store.h"
#include "cli/bench_writes.h"

namespace fulcrum::cli {
namespace {

constexpr std::size_t kLoads = 32;
constexpr std::uint64_t kSeed = 1;          // of the order of runs
constexpr std::int64_t kStagingLeast = 16;  // rows

class IoBench {
 public:
  IoBench(const BenchIoOptions& options, const std::atomic<bool>& stop, const BenchTell& tell)
      : options_(options),
        stop_(stop),
        tell_(tell),
        blocks_(options.block, static_cast<std::size_t>(options.bytes.value() / options.block.value())),
        bytes_(static_cast<double>(options.block.value()) * static_cast<double>(blocks_.count())) {}

  Result<BenchIoRow> run() {
    for (const auto& step : {&IoBench::prepare, &IoBench::choose_setting, &IoBench::verify, &IoBench::rounds,
                             &IoBench::writes}) {
      if (auto done = (this->*step)(); done.has_error()) return done.error();
      if (stop_) return bench_stopped();
    }
    return std::move(row_);
  }

 private:
  [[nodiscard]] BenchStoreOptions store_options(const std::string& directory, const BareSetting& io) const {
    BenchStoreOptions store;
    store.directory = directory;
    store.row = options_.block;
    store.blocks = blocks_.count();
    store.staging = std::max(std::min(store.staging, options_.bytes * 2), options_.block * kStagingLeast);
    store.io = io;
    store.gate = options_.gate;
    store.profile = options_.profile;
    store.tier = options_.tier;
    return store;
  }

  /// The store, and the files of the patterns: the same bytes twice.
  Result<void> prepare() {
    tell_("writing " + format(options_.bytes) + " in blocks of " + format(options_.block) + ", twice");
    auto scratch = BenchScratch::make(options_.directory);
    if (scratch.has_error()) return scratch.error();
    scratch_ = std::move(*scratch);
    std::error_code failed;
    for (const char* name : {"/store", "/chunks"}) {
      std::filesystem::create_directory(scratch_->path() + name, failed);
      if (failed) return os_error(failed.value(), "make a directory in", scratch_->path());
    }
    if (auto opened = open_store(bare_setting(*options_.profile.tier(options_.tier))); opened.has_error())
      return opened;
    if (auto stored = store_->store(blocks_, blocks_.count()); stored.has_error()) return stored.error();
    store_.reset();
    auto files = FilePerBlock::write(scratch_->path() + "/chunks", blocks_, stop_);
    if (files.has_error()) return files.error();
    files_ = std::move(*files);
    row_.pattern_direct = files_->direct();
    return {};
  }

  Result<void> open_store(const BareSetting& io) {
    auto store = BenchStore::open(store_options(scratch_->path() + "/store", io), stop_);
    if (store.has_error()) return store.error();
    store_ = std::move(*store);
    return {};
  }

  /// The best setting of the bare loop is that of the engine too: what a calibration would have found.
  Result<void> choose_setting() {
    tell_("looking for the best setting of the bare loop");
    auto bare = BenchBare::best(scratch_->path() + "/store",
                                bare_setting(*options_.profile.tier(options_.tier)), stop_);
    if (bare.has_error()) return bare.error();
    bare_ = std::move(*bare);
    row_.setting = bare_->setting();
    row_.device = bare_->device();
    row_.bare_io = bare_->description();
    return {};
  }

  /// Every byte, once, before anything is measured.
  Result<void> verify() {
    tell_("verifying every byte through the engine");
    if (auto opened = open_store(row_.setting); opened.has_error()) return opened;
    row_.engine_io = store_->io();
    if (auto loaded = store_->load(blocks_, 0, blocks_.count(), true); loaded.has_error())
      return loaded.error();
    return {};
  }

  Result<double> single() {
    const double cpu = cpu_seconds();
    const auto loaded = store_->load(blocks_, 0, blocks_.count(), false);
    if (loaded.has_error()) return loaded.error();
    engine_cpu_.push_back((cpu_seconds() - cpu) / bytes_ * 1e9);
    return bytes_ / loaded->last.value();
  }

  Result<double> concurrent() {
    const std::size_t loads = std::min(kLoads, blocks_.count());
    const std::size_t each = blocks_.count() / loads;
    std::vector<std::optional<Result<BenchStore::Loaded>>> loaded(loads);
    std::latch ready(static_cast<std::ptrdiff_t>(loads + 1));
    std::vector<std::thread> hosts;
    for (std::size_t i = 0; i < loads; ++i) {
      hosts.emplace_back([&, i] {
        const std::size_t count = i + 1 < loads ? each : blocks_.count() - each * i;
        ready.arrive_and_wait();
        loaded[i] = store_->load(blocks_, each * i, count, false);
      });
    }
    const Seconds start = clock_.now();
    ready.arrive_and_wait();
    for (std::thread& host : hosts) host.join();
    const Seconds elapsed = clock_.now() - start;
    double first = 0;
    for (const auto& one : loaded) {
      if (one->has_error()) return one->error();
      first += (*one)->first.value();
    }
    first_.push_back(first / static_cast<double>(loads));
    return bytes_ / elapsed.value();
  }

  Result<double> pattern(ReadPattern kind, std::vector<double>& waits) {
    const auto times = files_->read(kind, kLoads);
    if (times.has_error()) return times.error();
    waits.push_back(times->request_mean.value());
    return bytes_ / times->all.value();
  }

  Result<double> measure(std::size_t what) {
    switch (what) {
      case 0:
        return single();
      case 1:
        return bare_->rate();
      case 2:
        return concurrent();
      case 3:
        return pattern(ReadPattern::four_readers, four_waits_);
      default:
        return pattern(ReadPattern::thread_per_request, request_waits_);
    }
  }

  Result<void> rounds() {
    constexpr std::size_t kKinds = 5;
    std::array<std::vector<double>, kKinds> rates;
    std::array<std::size_t, kKinds> order = {0, 1, 2, 3, 4};
    Random random(kSeed);
    for (int round = 0; round < options_.rounds; ++round) {
      tell_("reading, round " + std::to_string(round + 1) + " of " + std::to_string(options_.rounds));
      for (std::size_t i = kKinds; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
      for (const std::size_t what : order) {
        if (stop_) return bench_stopped();
        const auto rate = measure(what);
        if (rate.has_error()) return rate.error();
        rates[what].push_back(*rate);
      }
    }
    summarise(rates);
    store_.reset();
    bare_.reset();
    return {};
  }

  static std::vector<double> ratios(const std::vector<double>& over, const std::vector<double>& under) {
    std::vector<double> out;
    for (std::size_t i = 0; i < over.size(); ++i) out.push_back(over[i] / under[i]);
    return out;
  }

  void summarise(const std::array<std::vector<double>, 5>& rates) {
    using calibrate::median;
    row_.block = options_.block;
    row_.blocks = blocks_.count();
    row_.rounds = options_.rounds;
    row_.single = median(rates[0]);
    row_.bare = median(rates[1]);
    row_.concurrent = median(rates[2]);
    row_.four_readers = median(rates[3]);
    row_.thread_per_request = median(rates[4]);
    row_.single_ratios = ratios(rates[0], rates[1]);
    row_.concurrent_ratios = ratios(rates[2], rates[1]);
    row_.single_ratio = median(row_.single_ratios);
    row_.concurrent_ratio = median(row_.concurrent_ratios);
    row_.four_readers_ratio = median(ratios(rates[2], rates[3]));
    row_.thread_per_request_ratio = median(ratios(rates[2], rates[4]));
    row_.first_block_s = median(first_);
    row_.four_readers_request_s = median(four_waits_);
    row_.thread_per_request_request_s = median(request_waits_);
    row_.engine_cpu_s_per_GB = median(engine_cpu_);
    row_.bare_cpu_s_per_GB = median(bare_->cpu());
  }

  Result<void> writes() {
    files_.reset();
    for (const char* name : {"/store", "/chunks"}) {
      std::error_code failed;
      std::filesystem::remove_all(scratch_->path() + name, failed);
    }
    std::vector<double> engine;
    std::vector<double> bare;
    const BenchStoreOptions store = store_options("", row_.setting);
    for (int round = 0; round < options_.rounds; ++round) {
      tell_("writing, round " + std::to_string(round + 1) + " of " + std::to_string(options_.rounds));
      for (const bool own : {round % 2 == 0, round % 2 != 0}) {
        const auto rate = own ? engine_write_rate(scratch_->path(), store, blocks_, stop_)
                              : bare_write_rate(scratch_->path(), options_.bytes, row_.setting, stop_);
        if (rate.has_error()) return rate.error();
        (own ? engine : bare).push_back(*rate);
      }
    }
    row_.write = calibrate::median(engine);
    row_.bare_write = calibrate::median(bare);
    row_.write_ratios = ratios(engine, bare);
    row_.write_ratio = calibrate::median(row_.write_ratios);
    return {};
  }

  const BenchIoOptions& options_;
  const std::atomic<bool>& stop_;
  const BenchTell& tell_;
  SteadyClock clock_;
  std::unique_ptr<BenchScratch> scratch_;  // before what works in it
  BenchBlocks blocks_;
  double bytes_;
  std::unique_ptr<BenchStore> store_;
  std::unique_ptr<FilePerBlock> files_;
  std::unique_ptr<BenchBare> bare_;
  BenchIoRow row_;
  std::vector<double> engine_cpu_;
  std::vector<double> first_;
  std::vector<double> four_waits_;
  std::vector<double> request_waits_;
};

}  // namespace

Bytes bench_io_space(Bytes block, Bytes bytes) {
  const auto blocks = static_cast<std::size_t>(bytes.value() / block.value());
  return bench_store_space(block, blocks) + bytes + bytes / 16;
}

Result<BenchIoRow> measure_io(const BenchIoOptions& options, const std::atomic<bool>& stop,
                              const BenchTell& tell) {
  return IoBench(options, stop, tell).run();
}

}  // namespace fulcrum::cli
