// Requests replayed per second: the whole Mooncake conversation trace under each strategy, on one core.
//
//   replay_bench [TRACE] [PROFILE] [POLICY]     defaults: the bundled trace, example profile and policy
#include <cstdio>
#include <string>

#include "base/clock.h"
#include "replay/comparison.h"
#include "replay/trace.h"

namespace {

using namespace fulcrum;

int fail(const Error& error) {
  std::fprintf(stderr, "replay_bench: %s\n", error.message().c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = FULCRUM_SOURCE_DIR;
  const auto given = [&](int i, const std::string& usual) { return argc > i ? std::string(argv[i]) : usual; };
  const SteadyClock clock;
  const Seconds start = clock.now();
  const auto trace =
      replay::read_trace(given(1, root + "/data/mooncake_conversation/conversation_trace.jsonl.zst"), {});
  if (!trace) return fail(trace.error());
  const Seconds read = clock.now() - start;
  const auto profile = MachineProfile::load(given(2, root + "/configs/profiles/example.yaml"));
  if (!profile) return fail(profile.error());
  const auto policy = PolicyConfig::load(given(3, root + "/configs/dram_nvme.yaml"));
  if (!policy) return fail(policy.error());
  replay::SimulationOptions options;
  options.replicas = 4;
  options = with_profile_noise(options, *profile, *policy);

  const auto requests = static_cast<double>(trace->requests.size());
  std::printf("%.0f requests, %zu block references, read in %.2f s\n", requests, trace->keys.size(),
              read.value());
  std::printf("%-12s %10s %14s\n", "strategy", "seconds", "requests/s");
  for (const Strategy strategy :
       {Strategy::none, Strategy::load_always, Strategy::threshold, Strategy::break_even}) {
    const Seconds before = clock.now();
    const auto result = replay::simulate(*trace, *profile, replay::policy_for(strategy, *policy), options);
    if (!result) return fail(result.error());
    const double seconds = (clock.now() - before).value();
    std::printf("%-12s %10.2f %14.0f\n", std::string(to_string(strategy)).c_str(), seconds,
                requests / seconds);
  }
  return 0;
}
