// The shared-pool scenario: follow-ups that land on a replica which never saw their document.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "replay/comparison.h"
#include "replay/report.h"
#include "replay/scenario_file.h"
#include "replay/simulation.h"

namespace fulcrum::replay {
namespace {

/// How the follow-ups are served.
struct Arm {
  Strategy strategy = Strategy::load_always;
  bool shared = true;
  int gate = 0;       ///< 0: as the strategy has it
  int count = 1;      ///< follow-ups
  int in_flight = 0;  ///< 0: all at once
};

struct FollowUps {
  Distribution ttft;
  double last = 0;  ///< from the first arrival to the last first token
};

/// Every document is prefilled once, one after another, on replica d mod R; when all is written, the
/// follow-ups are due at one instant, each on the next replica.
Trace two_phases(const ScenarioFile& file, int count) {
  const SharedPoolSetup& pool = file.pool;
  const PrefillProfile& prefill = *file.machine.prefill;
  const Bytes bytes = pool.document * prefill.kv_bytes_per_token;
  const Seconds step =
      2.0 * (prefill.cost.time(pool.document, Tokens(0)) + bytes / file.machine.tiers[0].write.value);
  std::vector<DocumentRequest> asked;
  asked.reserve(static_cast<std::size_t>(pool.documents) + static_cast<std::size_t>(count));
  for (int d = 0; d < pool.documents; ++d) asked.push_back({d, d, step * d});
  for (int d = 0; d < count; ++d) asked.push_back({d, d + 1, step * pool.documents});
  return document_trace(asked, pool.document, Tokens(0), file.block);
}

Result<FollowUps> serve(const ScenarioFile& file, const Arm& arm) {
  const Trace trace = two_phases(file, arm.count);
  PolicyConfig policy = policy_for(arm.strategy, file.policy(arm.strategy, 0));
  if (arm.gate > 0) policy.tiers[0].gate = arm.gate;
  SimulationOptions options;
  options.replicas = file.pool.replicas;
  options.router = Router::session;
  options.shared = arm.shared;
  options.gpu_cache = file.pool.gpu_cache;
  options.in_flight = arm.in_flight;
  auto result = simulate(trace, file.machine, policy, options);
  if (!result) return result.error();
  std::vector<double> ttfts;
  const auto first = static_cast<std::size_t>(file.pool.documents);
  Seconds end{};
  for (std::size_t i = first; i < result->requests.size(); ++i) {
    ttfts.push_back(result->requests[i].ttft().value());
    end = std::max(end, result->requests[i].first_token);
  }
  return FollowUps{distribution(std::move(ttfts)), (end - trace.requests[first].arrival).value()};
}

void add(ScenarioReport& report, std::string quantity, std::string unit, double value) {
  ScenarioFigure figure;
  figure.quantity = std::move(quantity);
  figure.unit = std::move(unit);
  figure.simulated = value;
  report.figures.push_back(std::move(figure));
}

Result<void> headline(const ScenarioFile& file, ScenarioReport& report) {
  const int all = file.pool.documents;
  const int wide = file.pool.in_flight;
  const auto alone = [&](bool shared) { return serve(file, {Strategy::load_always, shared, 0, all, 1}); };
  const auto together = [&](bool shared) {
    return serve(file, {Strategy::load_always, shared, 0, all, wide});
  };
  const auto private_alone = alone(false);
  if (!private_alone) return private_alone.error();
  const auto shared_alone = alone(true);
  if (!shared_alone) return shared_alone.error();
  const auto private_wide = together(false);
  if (!private_wide) return private_wide.error();
  const auto shared_wide = together(true);
  if (!shared_wide) return shared_wide.error();
  add(report, "private_ttft_p50", "s", private_alone->ttft.p50);
  add(report, "shared_ttft_p50", "s", shared_alone->ttft.p50);
  add(report, "ttft_p50_ratio", "x", private_alone->ttft.p50 / shared_alone->ttft.p50);
  add(report, "private_wall", "s", private_wide->last);
  add(report, "shared_wall", "s", shared_wide->last);
  add(report, "wall_ratio", "x", private_wide->last / shared_wide->last);
  add(report, "shared_ttft_p50_in_flight_" + std::to_string(wide), "s", shared_wide->ttft.p50);
  return {};
}

Result<void> burst_of(const ScenarioFile& file, int count, int gate, ScenarioReport& report) {
  const auto open = serve(file, {Strategy::load_always, true, 0, count, 0});
  if (!open) return open.error();
  const auto gated = serve(file, {Strategy::load_always, true, gate, count, 0});
  if (!gated) return gated.error();
  const auto ours = serve(file, {Strategy::break_even, true, 0, count, 0});
  if (!ours) return ours.error();
  const std::string at = std::to_string(count);
  add(report, "shared_ttft_at_" + at, "s", open->ttft.p50);
  report.changes.push_back(
      {"mean TTFT, " + at + " at once", "s", open->ttft.mean, gated->ttft.mean, ours->ttft.mean});
  report.changes.push_back({"last TTFT, " + at + " at once", "s", open->last, gated->last, ours->last});
  return {};
}

}  // namespace

Result<ScenarioReport> run_shared_pool(const ScenarioFile& file) {
  ScenarioReport report;
  if (auto done = headline(file, report); !done) return done.error();
  const int gate = file.machine.tiers[0].transfer().contention.gate();
  for (const int burst : file.pool.bursts) {
    if (auto done = burst_of(file, burst, gate, report); !done) return done.error();
  }
  report.remarks.push_back("The gate lets " + std::to_string(gate) +
                           " loads run at once: the fewest that reach 95 % of the law's peak throughput.");
  return report;
}

}  // namespace fulcrum::replay
