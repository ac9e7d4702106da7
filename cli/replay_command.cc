#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/example_profile.h"
#include "cli/output.h"
#include "cli/replay_options.h"
#include "cli/replay_output.h"
#include "cli/replay_real.h"
#include "cli/this_machine.h"
#include "policy/decision_log.h"
#include "replay/comparison.h"
#include "replay/report.h"
#include "replay/scenario.h"
#include "replay/trace.h"

namespace fulcrum::cli {
namespace {

using replay::Router;

constexpr double kSlowest = 1e-6;
constexpr double kFastest = 1e6;
constexpr std::array kRouters = {Router::round_robin, Router::least_loaded, Router::session};

/// All that a replay needs, read and checked.
struct Inputs {
  MachineProfile profile;
  std::string profile_name;
  PolicyConfig policy;
  replay::Trace trace;
  std::vector<Strategy> strategies;
  replay::SimulationOptions simulation;
};

Result<MachineProfile> read_profile(const std::string& path) {
  return path.empty() ? MachineProfile::parse(std::string(kExampleProfile), kExampleProfileName)
                      : MachineProfile::load(path);
}

Result<replay::Trace> read_requests(const ReplayOptions& options, Tokens block_tokens) {
  replay::TraceOptions reading;
  reading.skip_bad = options.skip_bad;
  reading.requests_max = options.requests;
  reading.block_tokens = block_tokens;
  reading.seed = options.seed;
  auto trace = replay::read_trace(options.trace, reading);
  if (!trace) return trace.error();
  for (replay::TraceRequest& request : trace->requests) request.arrival = request.arrival / options.speed;
  return trace;
}

/// "flash=0.1": that tier moves bytes at a tenth of its profiled rate.
Result<void> slow_down(const std::vector<std::string>& given, const PolicyConfig& policy,
                       replay::SimulationOptions& simulation) {
  for (const std::string& text : given) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    std::optional<double> scale;
    if (equals != std::string::npos) scale = parse_number(std::string_view(text).substr(equals + 1));
    std::size_t tier = 0;
    while (tier < policy.tiers.size() && policy.tiers[tier].name != name) ++tier;
    const double factor = scale.value_or(0);
    const bool good = factor >= kSlowest && factor <= kFastest;
    if (!good || tier == policy.tiers.size()) {
      return bad_input("--device-speed", "'" + text + "' is no tier=factor",
                       "name a tier of the policy and a factor from 1e-6 to 1e6, e.g. nvme=0.1");
    }
    simulation.truth[tier].bandwidth_scale = factor;
  }
  return {};
}

Result<replay::SimulationOptions> simulation_options(const ReplayOptions& options, const Inputs& inputs) {
  replay::SimulationOptions simulation;
  simulation.replicas = options.replicas;
  for (const Router router : kRouters) {
    if (to_string(router) == options.router) simulation.router = router;
  }
  simulation.shared = !options.private_caches;
  simulation.gpu_cache = Tokens(options.gpu_cache);
  simulation.decode_share = options.decode_share;
  simulation.seed = options.seed;
  simulation.truth.resize(inputs.policy.tiers.size());
  if (!options.exact) simulation = with_profile_noise(std::move(simulation), inputs.profile, inputs.policy);
  if (auto slowed = slow_down(options.slow, inputs.policy, simulation); !slowed) return slowed.error();
  return simulation;
}

Result<Inputs> read_inputs(const ReplayOptions& options) {
  Inputs inputs;
  auto profile = read_profile(options.profile);
  if (!profile) return profile.error();
  inputs.profile = std::move(*profile);
  inputs.profile_name = options.profile.empty() ? kExampleProfileName : options.profile;
  std::optional<PolicyConfig> policy;
  if (!options.policy.empty()) {
    auto loaded = PolicyConfig::load(options.policy);
    if (!loaded) return loaded.error();
    if (auto fits = loaded->check_against(inputs.profile); !fits) return fits.error();
    policy = std::move(*loaded);
  }
  for (const std::string& name : options.compare) {
    const auto strategy = replay::strategy_named(name);
    if (!strategy) return strategy.error();
    inputs.strategies.push_back(*strategy);
  }
  if (!options.decisions.empty() && std::find(inputs.strategies.begin(), inputs.strategies.end(),
                                              Strategy::break_even) == inputs.strategies.end()) {
    return bad_input("--decisions", "only break_even's decisions are kept, and it is not compared",
                     "add break_even to --compare");
  }
  auto trace = read_requests(options, policy ? policy->block_tokens : Tokens(0));
  if (!trace) return trace.error();
  inputs.trace = std::move(*trace);
  inputs.policy =
      policy ? std::move(*policy) : replay::default_policy(inputs.profile, inputs.trace.block_tokens);
  auto simulation = simulation_options(options, inputs);
  if (!simulation) return simulation.error();
  inputs.simulation = std::move(*simulation);
  return inputs;
}

replay::ReportHead head_of(const Inputs& inputs) {
  replay::ReportHead head;
  head.trace = inputs.trace.name;
  head.profile = inputs.profile_name;
  head.requests = inputs.trace.requests.size();
  head.skipped_lines = inputs.trace.skipped_lines;
  for (const auto& request : inputs.trace.requests) head.prompt_tokens += request.prompt.value();
  head.block_tokens = inputs.trace.block_tokens.value();
  head.options = inputs.simulation;
  return head;
}

void print_head(std::ostream& out, const ReplayOptions& options, const Inputs& inputs,
                const replay::ReportHead& head) {
  out << format(Tokens(static_cast<std::int64_t>(head.requests))) << " requests, "
      << format(Tokens(head.prompt_tokens)) << " prompt tokens in blocks of " << head.block_tokens
      << ", from " << options.trace << '\n';
  if (head.skipped_lines > 0) out << head.skipped_lines << " broken lines were skipped\n";
  out << options.replicas << " replicas, " << options.router << ", "
      << (options.private_caches ? "private caches" : "one shared cache") << ", "
      << format(Tokens(options.gpu_cache)) << " tokens of GPU cache each\nprofile " << inputs.profile_name;
  if (options.profile.empty()) out << " (none was given: figures of another machine, see --profile)";
  out << "; capacities:";
  for (const TierPolicy& tier : inputs.policy.tiers) out << ' ' << tier.name << ' ' << format(tier.capacity);
  out << (options.policy.empty() ? " (usual ones, see --policy)\n\n" : "\n\n");
}

int run_scenario_file(const ReplayOptions& options) {
  if (auto writable = check_outputs({options.json}); !writable) return fail(writable.error());
  const auto report = replay::run_scenario(options.scenario);
  if (!report) return fail(report.error());
  print_scenario(table_stream(options.json), *report);
  if (!options.json.empty()) {
    if (auto written = write_text(options.json, scenario_json(*report)); !written)
      return fail(written.error());
  }
  return kOk;
}

int run_trace(const ReplayOptions& options) {
  if (auto writable = check_outputs({options.json, options.decisions, options.svg}); !writable) {
    return fail(writable.error());
  }
  const auto inputs = read_inputs(options);
  if (!inputs) return fail(inputs.error());
  if (!options.profile.empty()) note_whose_figures(options.profile, inputs->profile);
  std::string decisions;
  replay::DecisionSink sink;
  if (!options.decisions.empty()) {
    sink = [&](const Request& request, const Plan& plan, Seconds now) {
      decisions += (decisions.empty() ? "" : "\n") + to_line(record_of(request, plan, inputs->policy, now));
    };
  }
  const auto reports = replay::compare(inputs->trace, inputs->profile, inputs->policy, inputs->strategies,
                                       inputs->simulation, sink);
  if (!reports) return fail(reports.error());
  const replay::ReportHead head = head_of(*inputs);
  std::ostream& out = table_stream(options.json);
  print_head(out, options, *inputs, head);
  print_comparison(out, *reports);
  std::vector<std::pair<std::string, std::string>> files;
  if (!options.json.empty()) files.emplace_back(options.json, report_json(head, *reports));
  if (!options.svg.empty()) files.emplace_back(options.svg, ttft_chart(inputs->trace.name, *reports));
  if (!options.decisions.empty()) files.emplace_back(options.decisions, std::move(decisions));
  for (const auto& [path, text] : files) {
    if (auto written = write_text(path, text); !written) return fail(written.error());
  }
  return kOk;
}

int run_real(const ReplayOptions& options) {
  if (auto writable = check_outputs({options.json}); !writable) return fail(writable.error());
  const auto inputs = read_inputs(options);
  if (!inputs) return fail(inputs.error());
  if (!options.profile.empty()) note_whose_figures(options.profile, inputs->profile);
  const auto report = replay_real(inputs->trace, inputs->profile, inputs->policy, options.speed,
                                  {.directory = options.real,
                                   .workers = options.workers,
                                   .kv_share = options.kv_share,
                                   .keep = options.keep});
  if (!report) return fail(report.error());
  print_real(table_stream(options.json), *report);
  if (!options.json.empty()) {
    if (auto written = write_text(options.json, real_json(*report)); !written) return fail(written.error());
  }
  if (!report->wrong) return kOk;
  const WrongByte& wrong = *report->wrong;
  return fail(make_error(ErrorKind::corrupt, "replay", options.real,
                         "request " + std::to_string(wrong.request) + " was given a wrong byte in block " +
                             std::to_string(wrong.block) + " at offset " + std::to_string(wrong.offset),
                         "stop using this engine and report it"));
}

}  // namespace

void add_replay(CLI::App& program, Action& action) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = program.add_subcommand(
      "replay", "Replay recorded traffic on simulated devices: what is each policy worth?");
  add_replay_options(*command, *options);
  CLI::Option* scenario = command->get_option("--scenario");  // it names all but where the figures go
  for (CLI::Option* other : command->get_options()) {
    const std::string name = other->get_name();
    if (other != scenario && name != "--json" && name != "--help") scenario->excludes(other);
  }
  command->callback([options, &action] {
    if (options->trace.empty() && options->scenario.empty()) {
      throw CLI::RequiredError("--trace or --scenario");
    }
    action = [options] {
      if (!options->scenario.empty()) return run_scenario_file(*options);
      return options->real.empty() ? run_trace(*options) : run_real(*options);
    };
  });
}

}  // namespace fulcrum::cli
