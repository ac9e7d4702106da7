#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/document.h"
#include "base/errors.h"
#include "base/quantity_text.h"
#include "cli/break_even_chart.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/this_machine.h"
#include "fulcrum/model_shape.h"
#include "fulcrum/profile.h"
#include "model/break_even_report.h"
#include "model/datasheet.h"

namespace fulcrum::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BreakevenOptions {
  std::string profile;
  std::string model;
  std::string gpu;
  int gpus = 0;
  std::string lead;
  std::string bandwidth;
  std::string setup;
  int concurrency = 1;
  std::vector<std::int64_t> positions;
  std::string json;
  std::string svg;
};

/// The profile, with prefill costs from a data sheet where a model and a GPU are named.
Result<MachineProfile> read_machine(const BreakevenOptions& options) {
  MachineProfile machine;
  if (!options.profile.empty()) {
    auto loaded = MachineProfile::load(options.profile);
    if (loaded.has_error()) return loaded.error();
    machine = std::move(*loaded);
  }
  if (options.gpu.empty()) {
    if (!options.profile.empty()) return machine;
    return bad_input("breakeven", "neither a profile nor a model and a GPU is given",
                     "give --profile machine.yaml, or --model config.json --gpu NAME");
  }
  const auto gpu = find_gpu(options.gpu);
  if (gpu.has_error()) return gpu.error();
  const auto shape = ModelShape::from_file(options.model);
  if (shape.has_error()) return shape.error();
  const auto cost = prefill_from_datasheet(*shape, *gpu, {.gpus = options.gpus});
  if (cost.has_error()) return cost.error();
  const int count = options.gpus > 0 ? options.gpus : gpus_needed(*shape, *gpu);
  machine.prefill = PrefillProfile{.source = PrefillSource::datasheet,
                                   .gpu = std::to_string(count) + " x " + std::string(gpu->name),
                                   .model = shape->name,
                                   .kv_bytes_per_token = shape->kv_bytes_per_token(),
                                   .kv_bytes_fixed = shape->kv_bytes_fixed(),
                                   .cost = *cost,
                                   .samples = 0};
  return machine;
}

Result<BreakEvenQuestion> read_question(const BreakevenOptions& options) {
  BreakEvenQuestion question;
  question.loads = options.concurrency;
  if (!options.lead.empty()) {
    const auto lead = parse_seconds(options.lead);
    if (!lead) return bad_input("--lead", "wants a time such as 20ms, got '" + options.lead + "'");
    question.lead = *lead;
  }
  if (!options.setup.empty()) {
    question.setup = parse_seconds(options.setup);
    if (!question.setup) return bad_input("--setup", "wants a time such as 2ms, got '" + options.setup + "'");
  }
  if (!options.bandwidth.empty()) {
    question.bandwidth = parse_rate(options.bandwidth);
    if (!question.bandwidth) {
      return bad_input("--bandwidth", "wants a rate such as 6GB/s, got '" + options.bandwidth + "'");
    }
  }
  if (!options.positions.empty()) {
    question.positions.clear();
    for (const std::int64_t position : options.positions) question.positions.emplace_back(position);
  }
  return question;
}

std::string gigabytes(BytesPerSecond rate) {
  return number(rate.value() / 1e9);
}

template <class T, class Text>
std::string with_range(const Measured<T>& m, Text text) {
  return text(m.value) + " (" + text(m.low) + " to " + text(m.high) + ")";
}

void print_head(const BreakEvenReport& report, const BreakEvenQuestion& question) {
  std::cout << report.model << " on " << report.gpu << ": " << number(report.kappa.value() / 1024)
            << " KiB of KV a token; "
            << "computing one costs " << number(report.alpha * 1e6) << " us, and "
            << number(report.beta * 1e6 * 1000) << " us more for every 1,000 tokens in front of it";
  if (report.prefill != Verdict::good) std::cout << " (" << to_string(report.prefill) << ")";
  std::cout << ".\n";
  if (report.loads > 1) std::cout << report.loads << " loads at once on each tier.\n";
  if (report.lead.value() > 0)
    std::cout << "Reads start " << format(report.lead) << " before the GPU is ready.\n";
  if (question.bandwidth) std::cout << "What if: every load gets " << format(*question.bandwidth) << ".\n";
  if (question.setup) std::cout << "What if: set-up takes " << format(*question.setup) << ".\n";
}

void print_tiers(const BreakEvenReport& report) {
  if (report.tiers.empty()) return;
  Table table({"tier", "GB/s of one load", "set-up, ms", "break-even prefix, tokens", "verdict"});
  for (const TierBreakEven& tier : report.tiers) {
    const auto milliseconds = [](Seconds t) { return number(t.value() * 1e3); };
    table.add({tier.name, with_range(tier.rate, gigabytes), with_range(tier.setup, milliseconds),
               with_range(tier.break_even, [](Tokens t) { return to_text(t); }),
               std::string(to_string(tier.break_even.verdict))});
  }
  std::cout << '\n';
  table.print(std::cout);
}

void print_positions(const BreakEvenReport& report) {
  constexpr const char* kAnswers[] = {"yes", "perhaps", "no"};
  std::vector<std::string> head = {"tokens in front", "GB/s needed"};
  for (const TierBreakEven& tier : report.tiers) head.push_back(tier.name);
  Table table(head);
  for (std::size_t i = 0; i < report.positions.size(); ++i) {
    std::vector<std::string> row = {format(report.positions[i]), with_range(report.needed[i], gigabytes)};
    for (const TierBreakEven& tier : report.tiers) {
      row.emplace_back(kAnswers[static_cast<std::size_t>(tier.clears[i])]);
    }
    table.add(row);
  }
  std::cout << "\nA block is worth reading, once a read is under way, from a tier faster than:\n";
  table.print(std::cout);
}

/// A number that JSON can hold; null stands for "never".
Json tokens(Tokens prefix) {
  return prefix == kNever ? Json() : Json(prefix.value());
}

Json to_json(const BreakEvenReport& report, const TierBreakEven& tier) {
  constexpr const char* kAnswers[] = {"yes", "perhaps", "no"};
  Json needed = Json::array();
  for (std::size_t i = 0; i < report.positions.size(); ++i) {
    needed.push_back({{"position", report.positions[i].value()},
                      {"value", report.needed[i].value.value()},
                      {"low", report.needed[i].low.value()},
                      {"high", report.needed[i].high.value()},
                      {"clears", kAnswers[static_cast<std::size_t>(tier.clears[i])]}});
  }
  const auto measured = [](const auto& m) {
    return Json{{"value", m.value.value()}, {"low", m.low.value()}, {"high", m.high.value()}};
  };
  return {{"name", tier.name},
          {"break_even_tokens",
           {{"value", tokens(tier.break_even.value)},
            {"low", tokens(tier.break_even.low)},
            {"high", tokens(tier.break_even.high)}}},
          {"bandwidth_Bps", measured(tier.rate)},
          {"setup_s", measured(tier.setup)},
          {"verdict", to_string(tier.break_even.verdict)},
          {"sentence", tier.sentence()},
          {"bandwidth_needed_Bps", needed}};
}

Json to_json(const BreakEvenReport& report) {
  Json tiers = Json::array();
  for (const TierBreakEven& tier : report.tiers) tiers.push_back(to_json(report, tier));
  return {{"gpu", report.gpu},
          {"model", report.model},
          {"kv_bytes_per_token", report.kappa.value()},
          {"alpha_s_per_token", report.alpha},
          {"beta_s_per_token2", report.beta},
          {"prefill_verdict", to_string(report.prefill)},
          {"loads", report.loads},
          {"lead_s", report.lead.value()},
          {"tiers", tiers}};
}

int run(const BreakevenOptions& options) {
  if (const auto writable = check_outputs({options.json, options.svg}); writable.has_error()) {
    return fail(writable.error());
  }
  const auto machine = read_machine(options);
  if (machine.has_error()) return fail(machine.error());
  const auto question = read_question(options);
  if (question.has_error()) return fail(question.error());
  const auto report = break_even_report(*machine, *question);
  if (report.has_error()) return fail(report.error());
  if (!options.profile.empty()) note_whose_figures(options.profile, *machine);
  if (options.json != "-") {
    print_head(*report, *question);
    print_tiers(*report);
    print_positions(*report);
    if (!report->tiers.empty()) std::cout << '\n';
    for (const TierBreakEven& tier : report->tiers) std::cout << tier.sentence() << ".\n";
  }
  if (!options.json.empty()) {
    if (const auto done = write_text(options.json, to_json(*report).dump(2)); done.has_error())
      return fail(done.error());
  }
  if (!options.svg.empty()) {
    const auto done = write_text(options.svg, break_even_chart(*machine));
    if (done.has_error()) return fail(done.error());
  }
  return kOk;
}

}  // namespace

void add_breakeven(CLI::App& program, Action& action) {
  auto options = std::make_shared<BreakevenOptions>();
  CLI::App* command =
      program.add_subcommand("breakeven", "From which prefix length on reading beats recomputing");
  command->add_option("--profile", options->profile, "Machine profile made by 'fulcrum calibrate'");
  CLI::Option* model = command->add_option("--model", options->model, "config.json of a model, with --gpu");
  CLI::Option* gpu = command->add_option(
      "--gpu", options->gpu, "Take prefill costs from this GPU's data sheet, e.g. H100; with --model");
  model->needs(gpu);
  gpu->needs(model);
  command->add_option("--gpus", options->gpus, "GPUs that share the model; 0: as few as hold it")
      ->check(CLI::Range(0, 64))
      ->needs(gpu);
  command->add_option("--lead", options->lead, "Time that reads may run before the GPU is ready, e.g. 20ms");
  command->add_option("--concurrency", options->concurrency, "Loads at once on each tier")
      ->check(CLI::Range(1, 4096));
  command->add_option("--bandwidth", options->bandwidth,
                      "What if: one load gets this from every tier, e.g. 6GB/s");
  command->add_option("--setup", options->setup, "What if: every tier takes this long to start, e.g. 2ms");
  command
      ->add_option("--position", options->positions, "Positions in the prompt, tokens (default 0 to 128 Ki)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->delimiter(',');
  command->add_option("--json", options->json,
                      "Write the figures as JSON to this file; - is standard output");
  command->add_option("--svg", options->svg, "Draw seconds to read and to compute over the prefix length");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fulcrum::cli
