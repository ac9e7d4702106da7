// The break-even scenario: from which prefix on does reading back beat computing, found by simulating both.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "replay/comparison.h"
#include "replay/report.h"
#include "replay/scenario_file.h"
#include "replay/simulation.h"

namespace fulcrum::replay {
namespace {

constexpr Seconds kStep{1000};  ///< between requests: each one meets an idle machine

void add(ScenarioReport& report, std::string quantity, std::string unit, double value) {
  ScenarioFigure figure;
  figure.quantity = std::move(quantity);
  figure.unit = std::move(unit);
  figure.simulated = value;
  report.figures.push_back(std::move(figure));
}

/// A document is prefilled; when it is written, it is asked for again. The second request's record.
Result<RequestRecord> ask_again(const ScenarioFile& file, std::size_t tier, Strategy strategy,
                                Tokens prefix) {
  const Trace trace = document_trace({{0, 0, Seconds(0)}, {0, 0, kStep}}, prefix, file.block, file.block);
  SimulationOptions options;
  options.gpu_cache = Tokens(0);
  auto result = simulate(trace, file.machine, policy_for(strategy, file.policy(strategy, tier)), options);
  if (!result) return result.error();
  return result->requests.back();
}

/// Fewest whole blocks of prefix for which `pays` holds, by bisection; the whole range if never.
template <class Pays>
Result<Tokens> first_that(const ScenarioFile& file, Pays pays) {
  std::int64_t low = 0;
  std::int64_t high = file.break_even.longest.value() / file.block.value();
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    const Result<bool> paid = pays(file.block * middle);
    if (!paid) return paid.error();
    (*paid ? high : low) = middle;
  }
  return file.block * high;
}

Result<Tokens> crossing(const ScenarioFile& file, std::size_t tier) {
  return first_that(file, [&](Tokens prefix) -> Result<bool> {
    const auto loaded = ask_again(file, tier, Strategy::load_always, prefix);
    if (!loaded) return loaded.error();
    const auto computed = ask_again(file, tier, Strategy::none, prefix);
    if (!computed) return computed.error();
    return loaded->ttft() <= computed->ttft();
  });
}

Result<Tokens> switch_point(const ScenarioFile& file, std::size_t tier) {
  return first_that(file, [&](Tokens prefix) -> Result<bool> {
    const auto ours = ask_again(file, tier, Strategy::break_even, prefix);
    if (!ours) return ours.error();
    return ours->loaded > Tokens(0);
  });
}

/// The set-up latency at which the published break-even would be exact, all speeds as in the file.
void remark_on_setup(const ScenarioFile& file, std::size_t tier, ScenarioReport& report) {
  const TierProfile& profile = file.machine.tiers[tier];
  const PrefillProfile& prefill = *file.machine.prefill;
  const std::string name = profile.name + "_break_even_tokens";
  for (const ScenarioFigure& figure : file.published) {
    if (figure.quantity != name) continue;
    const Tokens at(static_cast<std::int64_t>(*figure.published));
    const Seconds implied =
        prefill.cost.law.between(Tokens(0), at) - at * prefill.kv_bytes_per_token / profile.read.value;
    report.remarks.push_back(profile.name + ": the published " + format(at) +
                             " tokens imply a set-up latency of " + format(implied) +
                             " at these speeds; the file has " + format(profile.setup.value) + ".");
  }
}

Result<void> add_tier(const ScenarioFile& file, std::size_t tier, ScenarioReport& report) {
  const TierProfile& profile = file.machine.tiers[tier];
  const PrefillProfile& prefill = *file.machine.prefill;
  const auto simulated = crossing(file, tier);
  if (!simulated) return simulated.error();
  const auto switched = switch_point(file, tier);
  if (!switched) return switched.error();
  ScenarioFile quick = file;
  quick.machine.tiers[tier].setup =
      Measured<Seconds>::exact(file.break_even.what_if_setup, profile.setup.verdict);
  const auto at_what_if = crossing(quick, tier);
  if (!at_what_if) return at_what_if.error();
  const Tokens closed =
      break_even_prefix(prefill.cost.law.alpha(), prefill.cost.law.beta(),
                        prefill.kv_bytes_per_token.value() / profile.read.value.value(), profile.setup.value);
  add(report, profile.name + "_break_even_tokens", "tokens", static_cast<double>(simulated->value()));
  add(report, profile.name + "_break_even_MB", "MB",
      static_cast<double>((*simulated * prefill.kv_bytes_per_token).value()) / 1e6);
  add(report, profile.name + "_closed_form_tokens", "tokens", static_cast<double>(closed.value()));
  add(report, profile.name + "_fulcrum_loads_from", "tokens", static_cast<double>(switched->value()));
  add(report, profile.name + "_at_setup_" + format(file.break_even.what_if_setup), "tokens",
      static_cast<double>(at_what_if->value()));
  remark_on_setup(file, tier, report);
  return {};
}

/// Documents are prefilled one by one, then all are asked for at once.
Result<Distribution> burst(const ScenarioFile& file, const PolicyConfig& policy) {
  std::vector<DocumentRequest> asked;
  asked.reserve(2 * static_cast<std::size_t>(file.break_even.burst));
  for (int d = 0; d < file.break_even.burst; ++d) asked.push_back({d, 0, kStep * d});
  for (int d = 0; d < file.break_even.burst; ++d) asked.push_back({d, 0, kStep * file.break_even.burst});
  const Trace trace = document_trace(asked, file.break_even.burst_prefix, file.block, file.block);
  SimulationOptions options;
  options.gpu_cache = Tokens(0);
  auto result = simulate(trace, file.machine, policy, options);
  if (!result) return result.error();
  std::vector<double> ttfts;
  for (std::size_t i = asked.size() / 2; i < asked.size(); ++i) {
    ttfts.push_back(result->requests[i].ttft().value());
  }
  return distribution(std::move(ttfts));
}

Result<void> add_burst(const ScenarioFile& file, std::size_t tier, ScenarioReport& report) {
  const auto policy = [&](Strategy strategy) { return policy_for(strategy, file.policy(strategy, tier)); };
  PolicyConfig gated = policy(Strategy::load_always);
  gated.tiers[0].gate = file.machine.tiers[tier].transfer().contention.gate();
  const auto open = burst(file, policy(Strategy::load_always));
  if (!open) return open.error();
  const auto with_gate = burst(file, gated);
  if (!with_gate) return with_gate.error();
  const auto ours = burst(file, policy(Strategy::break_even));
  if (!ours) return ours.error();
  const std::string what = std::to_string(file.break_even.burst) + " prefixes of " +
                           format(file.break_even.burst_prefix) + " tokens from " +
                           file.machine.tiers[tier].name;
  report.changes.push_back({"mean TTFT, " + what, "s", open->mean, with_gate->mean, ours->mean});
  report.changes.push_back({"last TTFT, " + what, "s", open->p99, with_gate->p99, ours->p99});
  return {};
}

}  // namespace

Result<ScenarioReport> run_break_even(const ScenarioFile& file) {
  ScenarioReport report;
  for (std::size_t tier = 0; tier < file.machine.tiers.size(); ++tier) {
    if (auto done = add_tier(file, tier, report); !done) return done.error();
  }
  if (auto done = add_burst(file, file.machine.tiers.size() - 1, report); !done) return done.error();
  return report;
}

}  // namespace fulcrum::replay
