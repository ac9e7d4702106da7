// File tiers hold to the contract of Tier: on a simulated device and on real files, with both engines.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/scratch.h"
#include "tests/tiers/tier_contract.h"
#include "tiers/file_device.h"
#include "tiers/file_tier.h"
#include "tiers/sim_device.h"
#include "tiers/store_files.h"

namespace fulcrum::test {
namespace {

constexpr Bytes kRowBytes{5000};

Result<FileTierOptions> options_for(bool turning) {
  FileTierOptions options;
  const auto layout = FileLayout::for_capacity(2_MiB, kRowBytes, turning ? Medium::hdd : Medium::flash);
  if (layout.has_error()) return layout.error();
  options.name = {"contract", "rows", "bytes", 1, ""};
  options.layout = *layout;
  options.turning = turning;
  options.linger = Seconds(0.001);
  options.io_size = 64_KiB;
  options.budget = 512_KiB;
  options.owner = 1;
  options.writer = "a test";
  return options;
}

Result<TierUnderTest> simulated(bool turning) {
  auto options = options_for(turning);
  if (options.has_error()) return options.error();
  auto clock = std::make_shared<ManualClock>();
  SimTruth truth;
  truth.capacity = options->layout.total();
  truth.head = options->layout.meta_bytes;
  truth.piece = options->layout.segment_bytes;
  truth.setup_spread = 1;
  truth.noise = 0.5;
  auto tier = FileTier::open(std::make_unique<SimDevice>(truth, *clock), *options, *clock);
  if (tier.has_error()) return tier.error();
  return TierUnderTest{clock, std::move(*tier)};
}

struct RealGround {
  ScratchDirectory directory;
  SteadyClock clock;
};

Result<TierUnderTest> real(EngineChoice engine) {
  auto options = options_for(false);
  if (options.has_error()) return options.error();
  auto ground = std::make_shared<RealGround>();
  StoreFilesOptions files;
  files.head = options->layout.meta_bytes;
  files.piece = options->layout.segment_bytes;
  files.pieces = options->layout.segments;
  auto device = FileDevice::open_store(ground->directory.path(), files, {.engine = engine, .depth_max = 32});
  if (device.has_error()) return device.error();
  auto tier = FileTier::open(std::move(*device), *options, ground->clock);
  if (tier.has_error()) return tier.error();
  return TierUnderTest{ground, std::move(*tier)};
}

INSTANTIATE_TEST_SUITE_P(FileOnSimulation, TierContract,
                         on_all_laws({"flash", [] { return simulated(false); }}), law_name);
INSTANTIATE_TEST_SUITE_P(FileOnTurningSimulation, TierContract,
                         on_all_laws({"hdd", [] { return simulated(true); }}), law_name);
INSTANTIATE_TEST_SUITE_P(FileOnUring, TierContract,
                         on_all_laws({"uring", [] { return real(EngineChoice::uring); }}), law_name);
INSTANTIATE_TEST_SUITE_P(FileOnThreads, TierContract,
                         on_all_laws({"threads", [] { return real(EngineChoice::threads); }}), law_name);

}  // namespace
}  // namespace fulcrum::test
