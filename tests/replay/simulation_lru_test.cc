// Outside check: loading always from one tier that costs nothing is plain prefix LRU, and its hit ratios on
// the Mooncake conversation trace are known from a computation that shares no code with this project.
//
// Rule: requests in order of arrival; the hit is the leading run of known blocks, counted as
// min(prompt, blocks * 512) tokens; then the whole prompt, its last partial block included, becomes the most
// recently used, tail first. M = 2^20 tokens.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "replay/report.h"
#include "replay/simulation.h"
#include "tests/replay/machines.h"

namespace fulcrum::replay {
namespace {

TEST(OutsideCheck, LoadAlwaysReproducesTheLruHitRatiosOfTheConversationTrace) {
  const auto trace = read_trace(
      std::string(FULCRUM_SOURCE_DIR) + "/data/mooncake_conversation/conversation_trace.jsonl.zst", {});
  ASSERT_TRUE(trace.has_value()) << trace.error().message();
  ASSERT_EQ(trace->requests.size(), 12'031U);
  MachineProfile machine = make_machine({make_tier("free", Medium::dram, Seconds(0), BytesPerSecond(1e18))});
  machine.prefill->kv_bytes_per_token = BytesPerToken(1);
  machine.prefill->cost.law.theta = {0, 0, 1e-15, 0, 0, 0};
  machine.prefill->cost.draws.assign(1, machine.prefill->cost.law.theta);
  SimulationOptions options;
  options.gpu_cache = Tokens(0);
  options.partial_blocks = true;
  constexpr std::int64_t kMega = 1 << 20;
  for (const auto& [capacity, known] : {std::pair{kMega, 0.056},
                                        {4 * kMega, 0.185},
                                        {16 * kMega, 0.341},
                                        {64 * kMega, 0.373},
                                        {1024 * kMega, 0.374}}) {
    const PolicyConfig policy = make_policy(machine, Strategy::load_always, Tokens(512), {Bytes(capacity)});
    const auto result = simulate(*trace, machine, policy, options);
    ASSERT_TRUE(result.has_value()) << result.error().message();
    EXPECT_NEAR(summarise("lru", *result, Seconds(0)).loaded_share, known, 0.002)
        << capacity / kMega << " Mi tokens";
  }
}

}  // namespace
}  // namespace fulcrum::replay
