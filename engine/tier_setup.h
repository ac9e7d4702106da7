// Opening the tiers of a policy on this machine: memory, directories, and what they hold.
//
// Everything that is wrong is found before anything is kept open, and told at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/line_file.h"
#include "fulcrum/engine.h"
#include "tiers/device.h"
#include "tiers/dram_tier.h"
#include "tiers/tier.h"

namespace fulcrum::engine {

/// Puts something between a file tier and its device, for tests and benchmarks: path, device.
using WrapDevice = std::function<std::unique_ptr<Device>(const std::string&, std::unique_ptr<Device>)>;

struct OpenTiers {
  struct Files {
    TierId tier = kNowhere;
    std::unique_ptr<Tier> store;
    std::string io;  ///< what is really used
    std::vector<StoredRun> found;
    Bytes written_today{};  ///< since midnight, UTC
  };
  std::unique_ptr<SteadyClock> clock;  ///< of the tiers: first, since they outlive nothing
  PolicyConfig policy;                 ///< with capacities as they really are
  Bytes row_bytes{};
  std::shared_ptr<RowPool> pool;
  std::size_t staging_rows = 0;
  std::unique_ptr<DramTier> dram;
  std::vector<Files> stores;
  std::unique_ptr<LineFile> decisions;  ///< null where no log is wanted
};

/// FileTierOptions::commit by the tier's law of commits; nothing where the profile has none.
[[nodiscard]] std::optional<Bytes> commit_size(const TierProfile& profile);

/// Kinds: that of the first problem; its detail has one line for each.
[[nodiscard]] Result<OpenTiers> open_tiers(const EngineOptions& options, const WrapDevice& wrap = {});

/// As Engine::open, with something between the file tiers and their devices.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_engine(EngineOptions options, const WrapDevice& wrap);

}  // namespace fulcrum::engine
