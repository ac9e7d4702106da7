// Simulation: replicas that serve a trace, with the real decider and simulated tiers, in virtual time.
//
// A replica runs one prefill at a time, first come first served; its duration is the profile's prefill law
// (which prices the chunks), times noise. A request at the head of the queue is planned when the GPU is free;
// while it waits for a load, the next request that is ready runs. A load that is waited for longer than the
// plan's stop-loss is given up: the leading blocks that arrived are kept, the rest is computed.
// TTFT is the end of the prefill minus arrival: decoding takes `decode_share` of the GPU and no time of its
// own. Equal inputs and seed give equal results, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fulcrum/decider.h"
#include "replay/tier_device.h"
#include "replay/trace.h"

namespace fulcrum::replay {

enum class Router {
  round_robin,   ///< next replica in turn
  least_loaded,  ///< fewest seconds of prefill ahead
  session,       ///< by session; by second block where the trace has no sessions
};
[[nodiscard]] std::string_view to_string(Router router);

struct SimulationOptions {
  int replicas = 1;
  Router router = Router::round_robin;
  bool shared = true;                       ///< one cache for all replicas; false: one each, capacity divided
  Tokens gpu_cache{std::int64_t{1} << 19};  ///< prefix cache of one replica; 0: none
  int loads_max = 64;                       ///< requests of one replica that may wait for loads
  double decode_share = 0;                  ///< of GPU time, 0 <= share < 1
  bool partial_blocks = false;              ///< a prompt's last, partial block is cached as a whole one
  int in_flight = 0;  ///< closed loop: so many requests at once, none before its arrival; 0: no limit
  std::vector<DeviceTruth> truth;  ///< by tier of the policy; missing ones are exact
  double gpu_scale = 1;            ///< true prefill time over the profile's
  double gpu_noise = 0;            ///< deviation of the log of one prefill's time
  std::uint64_t seed = 1;
};

/// What happened to one request, in the order of the trace.
struct RequestRecord {
  std::uint32_t replica = 0;
  Seconds arrival{};
  Seconds scheduled{};
  Seconds first_token{};
  Tokens prompt{};
  Tokens resident{};      ///< leading tokens that the GPU cache held
  Tokens loaded{};        ///< tokens behind them that came from a tier
  Seconds exposed{};      ///< waited for loads
  Seconds compute{};      ///< prefill
  Seconds compute_all{};  ///< prefill that all tokens beyond `resident` would have taken
  Choice choice = Choice::miss;
  bool gave_up = false;  ///< the stop-loss ended the wait

  [[nodiscard]] Seconds ttft() const { return first_token - arrival; }
  /// Waited longer than the computation that it replaced would have taken.
  [[nodiscard]] bool harmful() const { return exposed > compute_all - compute; }
  /// Load and computation over the computation alone; 1 where nothing had to be computed.
  [[nodiscard]] double harm() const;
};

struct TierTotals {
  std::string name;
  Bytes read{};    ///< moved by the device, demotions and given-up loads included
  Bytes loaded{};  ///< of these, by loads and preloads that ran to their end
  Bytes written{};
  int most_reads_at_once = 0;
  std::uint64_t evicted_blocks = 0;
  std::uint64_t refused_blocks = 0;
};

struct SimulationResult {
  std::vector<RequestRecord> requests;
  std::vector<TierTotals> tiers;
  Seconds gpu{};  ///< prefill time of all replicas
  Seconds end{};  ///< last first token
};

/// Sees every decision as it is made.
using DecisionSink = std::function<void(const Request&, const Plan&, Seconds now)>;

/// Kinds: those of Decider::create; bad_input (options out of range; block sizes of trace and policy differ).
Result<SimulationResult> simulate(const Trace& trace, const MachineProfile& profile,
                                  const PolicyConfig& policy, const SimulationOptions& options,
                                  const DecisionSink& sink = {});

}  // namespace fulcrum::replay
