#include "cli/replay_options.h"

#include <CLI/CLI.hpp>
#include <string>

namespace fulcrum::cli {
namespace {

/// A finite number within a range. CLI11's own check lets NaN through.
CLI::Validator number_within(double low, double high, const std::string& range) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool good = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
            return good ? std::string() : "'" + text + "' is not a number " + range;
          },
          ""};
}

}  // namespace

void add_replay_options(CLI::App& command, ReplayOptions& options) {
  command.add_option("--trace", options.trace,
                     "Trace: Mooncake JSONL, Claude Code sessions or CSV; plain or zstd");
  command.add_option("--scenario", options.scenario,
                     "Scenario file: prints published beside simulated figures");
  command.add_option("--profile", options.profile,
                     "Machine profile from 'fulcrum calibrate'; default: an example");
  command.add_option("--policy", options.policy,
                     "Policy file; default: all tiers of the profile, usual capacities");
  command.add_option("--compare", options.compare, "Strategies: none, load_always, threshold, break_even")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--replicas", options.replicas, "Serving engines")
      ->check(CLI::Range(1, 255))
      ->capture_default_str();
  command.add_option("--router", options.router, "Which engine a request goes to")
      ->check(CLI::IsMember({"round_robin", "least_loaded", "session"}))
      ->capture_default_str();
  command.add_flag("--private", options.private_caches,
                   "A cache for each engine, capacity divided; default: shared");
  command.add_option("--gpu-cache", options.gpu_cache, "Tokens of prefix cache on each GPU")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--requests", options.requests, "Only the first so many requests; 0: all");
  command.add_option("--speed", options.speed, "Arrivals come so many times faster")
      ->check(number_within(1e-6, 1e6, "from 1e-6 to 1e6"))
      ->capture_default_str();
  command.add_option("--decode-share", options.decode_share, "Share of GPU time that decoding takes")
      ->check(number_within(0, 0.99, "from 0 to 0.99"))
      ->capture_default_str();
  command
      .add_option("--device-speed", options.slow,
                  "tier=factor, 1e-6 to 1e6: the device is not as fast as its profile")
      ->delimiter(',');
  command.add_flag("--exact", options.exact,
                   "Devices and GPU without noise; default: as wide as the profile's intervals");
  command.add_flag("--skip-bad", options.skip_bad, "Count broken trace lines instead of stopping");
  command.add_option("--seed", options.seed, "Seed of the noise")->capture_default_str();
  command.add_option("--json", options.json, "Write the report here ('-': standard output)");
  command.add_option("--decisions", options.decisions,
                     "Write break_even's decisions here, one a line, for 'explain'");
  CLI::Option* real = command.add_option(
      "--real", options.real, "Run the engine on real files below this directory and check every byte");
  command.add_option("--workers", options.workers, "With --real: requests served at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->needs(real);
  command
      .add_option("--kv-share", options.kv_share,
                  "With --real: rows hold one in so many KV bytes; 0: so that a row has at most 2 MiB")
      ->check(CLI::Range(0, 65536))
      ->capture_default_str()
      ->needs(real);
  command.add_flag("--keep", options.keep, "With --real: leave the tiers' directories behind")->needs(real);
  for (const char* simulated : {"--compare", "--replicas", "--router", "--private", "--gpu-cache",
                                "--decode-share", "--device-speed", "--exact", "--decisions"}) {
    real->excludes(command.get_option(simulated));
  }
  command.add_option("--svg", options.svg, "Write a chart of the TTFT distributions here");
}

}  // namespace fulcrum::cli
