#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/document.h"
#include "base/errors.h"
#include "base/quantity_text.h"
#include "calibrate/calibration.h"
#include "calibrate/prefill_source.h"
#include "calibrate/progress.h"
#include "cli/calibrate_report.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "fulcrum/model_shape.h"

namespace fulcrum::cli {
namespace {

namespace fs = std::filesystem;

struct CalibrateOptions {
  calibrate::CalibrationRequest request;
  std::string budget;
  std::string model;
  std::string samples;
  std::string server;
  std::string server_model;
  std::string server_key_file;
  std::string datasheet;
  std::int64_t chunk = 0;
  std::string out;
  std::string json;
  bool dry_run = false;
  bool strict = false;

  [[nodiscard]] bool prefill() const { return !samples.empty() || !server.empty() || !datasheet.empty(); }
};

std::string samples_path(const std::string& profile) {
  fs::path path(profile);
  path.replace_extension(".samples.csv");
  return path.string();
}

/// One directory under two spellings would be measured twice, as two tiers.
Result<void> check_paths(const std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code missing;  // said better where the directory is opened
      if (paths[i] != paths[j] && !fs::equivalent(paths[i], paths[j], missing)) continue;
      return bad_input("--path", "'" + paths[j] + "' and '" + paths[i] + "' are the same directory",
                       "name each directory once");
    }
  }
  return {};
}

Result<void> check_options(CalibrateOptions& options) {
  if (auto paths = check_paths(options.request.paths); paths.has_error()) return paths;
  if (options.prefill() && options.model.empty()) {
    return bad_input("calibrate", "prefill costs are costs of a model, and none is named",
                     "give its --model config.json");
  }
  if (!options.prefill() && !options.model.empty()) {
    return bad_input("--model", "nothing says how fast this model is computed",
                     "add --prefill, --prefill-server or --prefill-datasheet");
  }
  if (!options.budget.empty()) {
    const auto bytes = parse_bytes(options.budget);
    if (!bytes || *bytes <= Bytes(0)) {
      return bad_input("--budget", "'" + options.budget + "' is no size above 0", "write it as \"20 GiB\"");
    }
    options.request.budget = *bytes;
  }
  if (options.out.empty() && !options.dry_run) {
    return bad_input("calibrate", "nothing says where the profile goes", "give --out machine.yaml");
  }
  // A minute of measuring must not end in a directory that cannot be written.
  return check_outputs({options.out, options.out.empty() ? "" : samples_path(options.out), options.json});
}

/// Prefill costs from whichever source was named; empty where none was.
Result<std::optional<PrefillProfile>> prefill(const CalibrateOptions& options, Clock& clock,
                                              calibrate::Progress& progress, const std::atomic<bool>& stop) {
  using Answer = std::optional<PrefillProfile>;
  if (!options.prefill()) return Answer();
  const auto shape = ModelShape::from_file(options.model);
  if (shape.has_error()) return shape.error();
  const auto wrap = [](Result<PrefillProfile> made) -> Result<Answer> {
    if (made.has_error()) return made.error();
    return Answer(std::move(*made));
  };
  PrefillFitOptions fit;
  fit.chunk_tokens = options.chunk;
  fit.seed = options.request.seed;
  if (!options.datasheet.empty())
    return wrap(calibrate::prefill_profile_from_datasheet(options.datasheet, *shape));
  if (!options.samples.empty()) {
    const auto samples = calibrate::read_prefill_csv(options.samples);
    if (samples.has_error()) return samples.error();
    return wrap(calibrate::prefill_profile_from_samples(*samples, *shape, options.samples, fit));
  }
  calibrate::ServerProbeOptions probe;
  probe.url = options.server;
  probe.model = options.server_model;
  probe.seed = options.request.seed;
  if (!options.server_key_file.empty()) {
    const auto key = read_file(options.server_key_file);
    if (key.has_error()) return key.error();
    probe.api_key = key->substr(0, key->find_first_of("\r\n"));
  }
  const auto report = calibrate::probe_prefill_server(
      probe, clock,
      [&](int done, int all, std::string_view what) {
        progress.update("prefill", static_cast<double>(done) / std::max(1, all), what);
      },
      stop);
  if (report.has_error()) return report.error();
  progress.clear();
  for (const std::string& finding : report->findings) std::cerr << "prefill: " << finding << '\n';
  return wrap(calibrate::prefill_profile_from_server(*report, *shape, fit));
}

/// The samples first: a profile never stands without them.
Result<void> write_results(const CalibrateOptions& options, const calibrate::Calibration& found) {
  const std::string beside = samples_path(options.out);
  if (auto written = write_file_atomically(beside, found.samples_csv); written.has_error()) return written;
  if (auto written = found.profile.save(options.out); written.has_error()) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    return written;
  }
  if (options.json.empty()) return {};
  return write_text(options.json, calibration_json(found.profile, options.out));
}

/// This process's own command line, for the profile.
std::string command_line() {
  std::ifstream in("/proc/self/cmdline");
  std::string line;
  for (std::string word; std::getline(in, word, '\0');) line += (line.empty() ? "" : " ") + word;
  return line;
}

bool trusted(const MachineProfile& profile) {
  return std::all_of(profile.tiers.begin(), profile.tiers.end(),
                     [](const TierProfile& tier) { return tier.verdict == Verdict::good; });
}

int run_calibrate(CalibrateOptions options) {
  if (auto checked = check_options(options); checked.has_error()) return fail(checked.error());
  SteadyClock clock;
  const StopSignal signal;
  calibrate::Progress progress(std::cerr, isatty(STDERR_FILENO) != 0, clock);
  auto plan = calibrate::plan_calibration(options.request, clock);
  if (plan.has_error()) return fail(plan.error());
  Result<std::optional<PrefillProfile>> costs{std::optional<PrefillProfile>()};
  if (options.server.empty() || !options.dry_run) costs = prefill(options, clock, progress, signal.raised());
  progress.clear();
  if (costs.has_error()) return fail(costs.error());
  print_plan(options.dry_run ? std::cout : std::cerr, *plan);
  if (options.dry_run) return kOk;

  auto found = calibrate::measure_machine(
      *plan, options.request, clock,
      [&](std::string_view tier, double share, std::string_view detail) {
        progress.update(tier, share, detail);
      },
      signal.raised());
  progress.clear();
  if (found.has_error()) return fail(found.error());
  found->profile.prefill = std::move(*costs);
  found->profile.provenance.command = command_line();
  if (auto written = write_results(options, *found); written.has_error()) return fail(written.error());
  std::ostream& out = table_stream(options.json);
  print_result(out, found->profile);
  out << "profile: " << options.out << ", samples: " << samples_path(options.out) << '\n';
  return options.strict && !trusted(found->profile) ? kUntrusted : kOk;
}

}  // namespace

void add_calibrate(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("calibrate", "Measure drives and memory of this machine and write a profile");
  auto options = std::make_shared<CalibrateOptions>();
  calibrate::CalibrationRequest& request = options->request;
  command->add_option("--path", request.paths, "Directory on a drive to measure (repeat for several)")
      ->required()
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->add_option("--name", request.names, "Tier name for each path, e.g. nvme, hdd")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "Profile to write; its samples go beside it as .samples.csv")
      ->type_name("FILE");
  command->add_flag("--full", request.full, "Measure for sign-off: many minutes, large writes");
  command->add_flag("--hdd", request.turning, "The paths are turning disks, whatever the kernel says");
  command->add_option("--budget", options->budget, "Write at most so many bytes on each path, e.g. \"4 GiB\"")
      ->type_name("BYTES");
  command->add_flag("--dry-run", options->dry_run, "Show what would be done and written, measure nothing");
  command->add_option("--seed", request.seed, "Seed of data, places and order")->capture_default_str();
  command->add_option("--model", options->model, "config.json of the model that prefill costs are for");
  auto* csv = command->add_option("--prefill", options->samples,
                                  "Prefill timings: CSV of new_tokens,cached_tokens,seconds");
  auto* server = command->add_option("--prefill-server", options->server,
                                     "Time prefill on a running OpenAI-compatible server (http://host:port)");
  auto* sheet = command->add_option("--prefill-datasheet", options->datasheet,
                                    "Estimate prefill from a GPU's data sheet, e.g. H100-SXM");
  csv->excludes(server)->excludes(sheet);
  server->excludes(sheet);
  command->add_option("--server-model", options->server_model,
                      "Model to ask the server for (default: its first)");
  command->add_option("--server-key-file", options->server_key_file,
                      "File whose first line is the server's API key; keeps it out of the profile");
  command
      ->add_option("--prefill-chunk", options->chunk,
                   "Prefill chunk of the server in tokens; 0: whole prompt")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--strict", options->strict, "Exit with 3 unless every tier's verdict is good");
  command->add_option("--json", options->json, "Write the result as JSON (- for standard output)");
  command->footer(
      "Nothing but an unnamed file in each path is written, and it is gone when the program ends.");
  command->callback([&action, options] { action = [options] { return run_calibrate(*options); }; });
}

}  // namespace fulcrum::cli
