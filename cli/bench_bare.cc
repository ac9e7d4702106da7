#include "cli/bench_bare.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/bench_store.h"
#include "tiers/store_image.h"
#include "tiers/store_survey.h"

namespace fulcrum::cli {
namespace {

constexpr Bytes kMost{std::int64_t{64} << 20};  // in flight

/// What is tried beside the profile's setting.
constexpr std::array<std::pair<std::int64_t, int>, 6> kSettings = {
    {{256 << 10, 64}, {512 << 10, 32}, {1 << 20, 16}, {1 << 20, 64}, {2 << 20, 16}, {4 << 20, 8}}};

/// Where the rows of the chain lie: in order, without the headers between them.
std::vector<BareRange> ranges_of(const StoreImage& image) {
  const StoreState& state = image.state;
  const std::int64_t stride = image.superblock.layout.stride();
  std::vector<std::pair<std::uint32_t, BareRange>> runs;
  for (std::uint32_t id = 0; id < state.index.extents_end(); ++id) {
    const ExtentFacts& extent = state.index.extent(id);
    if (extent.blocks.empty()) continue;
    const std::int64_t offset = (std::int64_t{extent.page} + 1) * static_cast<std::int64_t>(kPage);
    runs.push_back(
        {extent.first, {extent.segment, offset, stride * static_cast<std::int64_t>(extent.blocks.size())}});
  }
  std::ranges::sort(runs, {}, [](const auto& run) { return run.first; });
  std::vector<BareRange> ranges;
  ranges.reserve(runs.size());
  for (const auto& [first, range] : runs) ranges.push_back(range);
  return ranges;
}

}  // namespace

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

BareSetting bare_setting(const TierProfile& tier) {
  BareSetting setting{tier.io_size, tier.depth};
  if (setting.io_size <= Bytes(0) || setting.io_size.value() % 4096 != 0) setting.io_size = Bytes(1 << 20);
  setting.io_size = std::min(setting.io_size, kMost);
  setting.depth = std::clamp(setting.depth, 1, static_cast<int>(kMost / setting.io_size));
  return setting;
}

Result<std::unique_ptr<BenchBare>> BenchBare::best(const std::string& directory, const BareSetting& first,
                                                   const std::atomic<bool>& stop) {
  std::unique_ptr<BenchBare> bare(new BenchBare);
  const auto image = StoreImage::open(directory, StoreAccess::look, bare->clock_);
  if (image.has_error()) return image.error();
  bare->device_ = (*image)->device->identity();
  bare->ranges_ = ranges_of(**image);
  for (const BareRange& range : bare->ranges_) bare->bytes_ += static_cast<double>(range.bytes);
  std::vector<std::string> paths;
  for (const StoreSurvey::File& file : (*image)->survey.files) {
    if (file.index > 0) paths.push_back(store_path(directory, file.index));
  }
  auto loop = BareLoop::open(paths, kMost);
  if (loop.has_error()) return loop.error();
  bare->loop_ = std::move(*loop);
  if (Result<void> chosen = bare->choose(first, stop); chosen.has_error()) return chosen.error();
  return bare;
}

Result<double> BenchBare::rate_at(const BareSetting& setting) {
  const Seconds start = clock_.now();
  const double cpu = cpu_seconds();
  if (auto read = loop_->read(ranges_, setting); read.has_error()) return read.error();
  cpu_.push_back((cpu_seconds() - cpu) / bytes_ * 1e9);
  return bytes_ / (clock_.now() - start).value();
}

Result<double> BenchBare::rate() {
  return rate_at(setting_);
}

Result<void> BenchBare::choose(const BareSetting& first, const std::atomic<bool>& stop) {
  std::vector<BareSetting> settings = {first};
  for (const auto& [size, depth] : kSettings) settings.push_back({Bytes(size), depth});
  std::vector<double> best(settings.size());
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      if (stop) return bench_stopped();
      const auto rate = rate_at(settings[i]);
      if (rate.has_error()) return rate.error();
      best[i] = std::max(best[i], *rate);
    }
  }
  setting_ = settings[static_cast<std::size_t>(std::ranges::max_element(best) - best.begin())];
  cpu_.clear();
  return {};
}

}  // namespace fulcrum::cli
