#include "tests/engine/write_back_parts.h"

#include <algorithm>

#include "base/check.h"
#include "engine/tier_setup.h"

namespace fulcrum::test::write_back_parts {
namespace {

constexpr Bytes kTransfer{(std::int64_t{16} << 20) / kScale};
// The example profile has the prefill of a model of 8 billion parameters; the host's has 70.
constexpr double kPrefill = 70.0 / 8;

}  // namespace

MachineProfile host_profile() {
  auto loaded = MachineProfile::load(std::string(FULCRUM_SOURCE_DIR) + "/configs/profiles/example.yaml");
  FULCRUM_CHECK(loaded.has_value(), "the example profile can be read");
  MachineProfile profile = std::move(*loaded);
  profile.prefill->kv_bytes_per_token = BytesPerToken(static_cast<double>(kRow.value()) / kBlockTokens);
  PrefillCost& cost = profile.prefill->cost;
  for (double& term : cost.law.theta) term *= kPrefill;
  for (auto& draw : cost.draws) {
    for (double& term : draw) term *= kPrefill;
  }
  // Two movements a commit: at this size they take as long as the bytes.
  const double half = 2 * array_move().value() * WriteBackOptions::kIdeal / kScale;
  for (TierProfile& tier : profile.tiers) {
    if (tier.medium != Medium::hdd) continue;
    tier.commit_half = Measured<Bytes>::exact(Bytes(static_cast<std::int64_t>(half)), Verdict::good);
    tier.verdict = Verdict::good;
    tier.read = Measured<BytesPerSecond>::exact(kRead, Verdict::good);
    tier.write = Measured<BytesPerSecond>::exact(kWrite, Verdict::good);
  }
  return profile;
}

double value_of(const MachineProfile& profile, std::size_t blocks) {
  const Tokens reach(static_cast<std::int64_t>(blocks) * kBlockTokens);
  const Seconds saved = profile.prefill->cost.law.between(Tokens(0), reach);
  const TierProfile* disk = profile.tier("hdd");
  const Seconds load = disk->transfer().time(kRow * static_cast<std::int64_t>(blocks));
  return (saved - load).value() / static_cast<double>(blocks);
}

FileTierOptions array_options(const WriteBackOptions& wished) {
  FileTierOptions options;
  options.name = kName;
  // Segments of a quarter of those that turning disks have.
  auto layout = FileLayout::for_capacity(wished.disk / kScale, kRow, Medium::flash);
  FULCRUM_CHECK(layout.has_value(), "a layout for the array");
  options.layout = *layout;
  options.turning = true;
  options.budget = wished.in_flight / kScale;
  options.io_size = std::min(kTransfer, options.budget);
  options.commit = (wished.commit > Bytes(0) ? wished.commit : chosen_commit()) / kScale;
  options.owner = 7;
  options.wall = Seconds(1);
  return options;
}

}  // namespace fulcrum::test::write_back_parts
