// Comparison: the same trace, devices and capacities under several policies.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "replay/report.h"
#include "replay/simulation.h"

namespace fulcrum::replay {

/// The policy of that strategy on the capacities of `base`. The baselines do as systems do that do not price
/// loads: no gate, no stop-loss, no preload; Strategy::threshold without a threshold gets the published one.
[[nodiscard]] PolicyConfig policy_for(Strategy strategy, const PolicyConfig& base);

/// The threshold that Strategy::threshold uses where the policy names none: the SSD break-even published for
/// Qwen3-4B on an H100 (configs/scenarios/break_even_h100.yaml has the source).
inline constexpr Tokens kPublishedThreshold{6203};

/// Strategy of that name. Kinds: bad_input with the nearest valid name.
Result<Strategy> strategy_named(std::string_view name);

/// Noise as wide as the profile's own intervals: what the profile does not know, the devices vary by.
[[nodiscard]] SimulationOptions with_profile_noise(SimulationOptions options, const MachineProfile& profile,
                                                   const PolicyConfig& policy);

/// A policy from nothing but a profile: every tier but hard disks, each with a usual capacity.
[[nodiscard]] PolicyConfig default_policy(const MachineProfile& profile, Tokens block_tokens);

/// Runs every strategy in turn; Strategy::none runs as the reference even if it is not listed.
Result<std::vector<PolicyReport>> compare(const Trace& trace, const MachineProfile& profile,
                                          const PolicyConfig& base, std::span<const Strategy> strategies,
                                          const SimulationOptions& options, const DecisionSink& sink = {});

}  // namespace fulcrum::replay
