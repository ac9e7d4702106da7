#include "replay/comparison.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "base/document.h"
#include "base/errors.h"

namespace fulcrum::replay {
namespace {

constexpr std::array kStrategies = {Strategy::break_even, Strategy::load_always, Strategy::threshold,
                                    Strategy::none};

/// Capacity that a host commonly gives to a tier of that medium.
Bytes usual_capacity(Medium medium) {
  switch (medium) {
    case Medium::dram:
      return 64_GiB;
    case Medium::flash:
      return 1024_GiB;
    case Medium::hdd:
      return 8192_GiB;
    case Medium::pool:
      return 4096_GiB;
  }
  return 64_GiB;
}

/// Deviation of the logarithm that a 95 % interval of a positive number implies.
template <class T>
double log_deviation(const Measured<T>& measured) {
  constexpr double kSpan = 2 * 1.96;  // a 95 % interval of a normal is so many deviations wide
  const auto low = static_cast<double>(measured.low.value());
  const auto high = static_cast<double>(measured.high.value());
  return low > 0 && high > low ? std::log(high / low) / kSpan : 0;
}

}  // namespace

PolicyConfig policy_for(Strategy strategy, const PolicyConfig& base) {
  PolicyConfig policy = base;
  policy.strategy = strategy;
  policy.origins.clear();
  if (strategy == Strategy::break_even) return policy;
  for (TierPolicy& tier : policy.tiers) tier.gate = 0;
  if (strategy == Strategy::threshold && policy.threshold_tokens <= Tokens(0)) {
    policy.threshold_tokens = kPublishedThreshold;
  }
  return policy;
}

Result<Strategy> strategy_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Strategy strategy : kStrategies) {
    if (name == to_string(strategy)) return strategy;
    names.push_back(to_string(strategy));
  }
  const std::string_view near = nearest(name, names);
  return bad_input("--compare", "no strategy is called '" + std::string(name) + "'",
                   near.empty() ? "use break_even, load_always, threshold or none"
                                : "did you mean '" + std::string(near) + "'?");
}

SimulationOptions with_profile_noise(SimulationOptions options, const MachineProfile& profile,
                                     const PolicyConfig& policy) {
  options.truth.resize(policy.tiers.size());
  for (std::size_t i = 0; i < policy.tiers.size(); ++i) {
    const TierPolicy& tier = policy.tiers[i];
    const TierProfile* known = profile.tier(tier.profile.empty() ? tier.name : tier.profile);
    if (known != nullptr) options.truth[i].noise = log_deviation(known->read);
  }
  if (profile.prefill) options.gpu_noise = profile.prefill->cost.residual;
  return options;
}

PolicyConfig default_policy(const MachineProfile& profile, Tokens block_tokens) {
  PolicyConfig policy;
  policy.block_tokens = block_tokens;
  for (const TierProfile& tier : profile.tiers) {
    if (tier.medium == Medium::hdd) continue;
    TierPolicy own;
    own.name = tier.name;
    own.profile = tier.name;
    own.capacity = usual_capacity(tier.medium);
    policy.tiers.push_back(std::move(own));
  }
  return policy;
}

Result<std::vector<PolicyReport>> compare(const Trace& trace, const MachineProfile& profile,
                                          const PolicyConfig& base, std::span<const Strategy> strategies,
                                          const SimulationOptions& options, const DecisionSink& sink) {
  auto reference = simulate(trace, profile, policy_for(Strategy::none, base), options);
  if (!reference) return reference.error();
  std::vector<PolicyReport> reports;
  for (const Strategy strategy : strategies) {
    const std::string name(to_string(strategy));
    if (strategy == Strategy::none) {
      reports.push_back(summarise(name, *reference, reference->gpu));
      continue;
    }
    const bool ours = strategy == Strategy::break_even;
    auto result = simulate(trace, profile, policy_for(strategy, base), options, ours ? sink : DecisionSink{});
    if (!result) return result.error();
    reports.push_back(summarise(name, *result, reference->gpu));
  }
  return reports;
}

}  // namespace fulcrum::replay
