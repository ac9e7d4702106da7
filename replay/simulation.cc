#include "replay/simulation.h"

#include <cstddef>
#include <string>
#include <utility>

#include "base/errors.h"
#include "replay/simulation_run.h"

namespace fulcrum::replay {
namespace {

std::string problem_of(const Trace& trace, const PolicyConfig& policy, const SimulationOptions& options) {
  if (trace.requests.empty()) return "the trace has no requests";
  if (trace.block_tokens <= Tokens(0)) return "the trace does not say its block size";
  if (trace.block_tokens != policy.block_tokens) {
    return "the trace has blocks of " + std::to_string(trace.block_tokens.value()) +
           " tokens, the policy of " + std::to_string(policy.block_tokens.value());
  }
  if (options.replicas < 1 || options.replicas > 255) return "replicas must be 1 to 255";
  if (options.loads_max < 1) return "a replica needs room for at least one load";
  if (options.decode_share < 0 || options.decode_share >= 1) return "the share of decoding is 0 to below 1";
  if (options.gpu_cache < Tokens(0)) return "the GPU cache cannot be negative";
  for (const DeviceTruth& truth : options.truth) {
    if (!(truth.bandwidth_scale > 0) || truth.setup_scale < 0 || truth.noise < 0) {
      return "a device needs a positive speed and noise of at least 0";
    }
  }
  return {};
}

}  // namespace

double RequestRecord::harm() const {
  return compute_all > Seconds(0) ? (exposed + compute) / compute_all : 1.0;
}

Result<SimulationResult> simulate(const Trace& trace, const MachineProfile& profile,
                                  const PolicyConfig& policy, const SimulationOptions& options,
                                  const DecisionSink& sink) {
  if (std::string problem = problem_of(trace, policy, options); !problem.empty()) {
    return bad_input(trace.name, std::move(problem), "change the trace, the policy or the option");
  }
  PolicyConfig own = policy;
  const int caches = options.shared ? 1 : options.replicas;
  for (TierPolicy& tier : own.tiers) tier.capacity = tier.capacity / caches;
  std::vector<Decider> deciders;
  for (int i = 0; i < caches; ++i) {
    auto decider = Decider::create(own, profile);
    if (!decider) return decider.error();
    deciders.push_back(std::move(*decider));
  }
  return SimulationRun(trace, std::move(deciders), options, sink).run();
}

}  // namespace fulcrum::replay
