// Laws that every run of the simulation obeys, whatever the policy.
#include "replay/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "replay/event_queue.h"
#include "replay/router.h"
#include "tests/replay/machines.h"

namespace fulcrum::replay {
namespace {

constexpr Tokens kBlock{512};

SimulationResult run(const Trace& trace, const MachineProfile& machine, const PolicyConfig& policy,
                     const SimulationOptions& options) {
  auto result = simulate(trace, machine, policy, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  return result ? *result : SimulationResult{};
}

PolicyConfig flash_policy(const MachineProfile& machine, Strategy strategy) {
  return make_policy(machine, strategy, kBlock, {8_GiB, 400_GiB});
}

/// One document, asked for again after a long pause.
Trace asked_twice(std::int64_t tokens) {
  Trace trace;
  trace.name = "twice";
  trace.block_tokens = kBlock;
  const auto blocks = static_cast<std::uint32_t>(tokens / kBlock.value());
  for (std::uint32_t i = 0; i < blocks; ++i) trace.keys.push_back(BlockKey{9, i});
  for (const double arrival : {0.0, 1000.0}) {
    TraceRequest request;
    request.arrival = Seconds(arrival);
    request.prompt = Tokens(tokens + 100);
    request.key_count = blocks;
    trace.requests.push_back(request);
  }
  return trace;
}

TEST(EventQueue, KeepsTheOrderOfEqualTimesAndRefusesThePast) {
  EventQueue events;
  for (const std::uint32_t index : {3U, 1U, 2U}) events.push(Seconds(5), EventKind::arrival, index);
  events.push(Seconds(4), EventKind::arrival, 0);
  std::vector<std::uint32_t> order;
  while (!events.empty()) order.push_back(events.pop().index);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 3, 1, 2}));
  EXPECT_DEATH(events.push(Seconds(4.9), EventKind::arrival, 0), "past");
}

TEST(Simulation, OneRequestOnAnIdleMachineTakesWhatTheModelSays) {
  const MachineProfile machine = make_machine({make_tier("flash", Medium::flash, 1_ms, 30_GBps)});
  const Trace trace = asked_twice(40 * 512);
  SimulationOptions options;
  options.gpu_cache = Tokens(0);
  const auto& law = machine.prefill->cost.law;
  const Tokens prompt = trace.requests[0].prompt;
  const Tokens prefix = kBlock * 40;
  const PolicyConfig policy = make_policy(machine, Strategy::load_always, kBlock, {100_GiB});
  const SimulationResult result = run(trace, machine, policy, options);
  ASSERT_EQ(result.requests.size(), 2U);
  EXPECT_NEAR(result.requests[0].ttft().value(), law.time(prompt, Tokens(0)).value(), 1e-9);
  const Seconds load = machine.tiers[0].transfer().time(prefix * machine.prefill->kv_bytes_per_token);
  EXPECT_NEAR(result.requests[1].ttft().value(), (load + law.time(prompt - prefix, prefix)).value(), 1e-9);
  EXPECT_EQ(result.requests[1].loaded, prefix);
  EXPECT_NEAR(result.requests[1].exposed.value(), load.value(), 1e-9);
}

TEST(Simulation, ATierThatIsTooSlowIsLeftAloneByBreakEvenOnly) {
  const MachineProfile machine = make_machine({make_tier("flash", Medium::flash, 1_ms, BytesPerSecond(1e9))});
  const Trace trace = asked_twice(20 * 512);  // compute 0.26 s, load 1.02 s
  SimulationOptions options;
  options.gpu_cache = Tokens(0);
  const auto loaded = [&](Strategy strategy) {
    return run(trace, machine, make_policy(machine, strategy, kBlock, {100_GiB}), options).requests[1];
  };
  EXPECT_EQ(loaded(Strategy::break_even).loaded, Tokens(0));
  EXPECT_FALSE(loaded(Strategy::break_even).harmful());
  EXPECT_TRUE(loaded(Strategy::load_always).harmful());
}

class EveryStrategy : public ::testing::TestWithParam<Strategy> {};

TEST_P(EveryStrategy, NothingHappensBeforeItsCauseAndAGpuDoesOneThingAtATime) {
  const MachineProfile machine = two_tier_machine();
  const Trace trace = make_chat({});
  SimulationOptions options;
  options.replicas = 3;
  options.gpu_cache = Tokens(60'000);
  options.gpu_noise = 0.1;
  options.truth = {DeviceTruth{1, 1, 0.2}, DeviceTruth{0.7, 1, 0.3}};
  const SimulationResult result = run(trace, machine, flash_policy(machine, GetParam()), options);
  std::map<std::uint32_t, std::vector<std::pair<double, double>>> busy;
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const RequestRecord& record = result.requests[i];
    EXPECT_EQ(record.arrival, trace.requests[i].arrival);
    EXPECT_GE(record.scheduled, record.arrival);
    EXPECT_GE(record.first_token + Seconds(1e-9), record.scheduled + record.exposed + record.compute);
    EXPECT_LE(record.resident + record.loaded, record.prompt);
    EXPECT_LE(record.compute, record.compute_all + Seconds(1e-12));
    busy[record.replica].emplace_back((record.first_token - record.compute).value(),
                                      record.first_token.value());
  }
  EXPECT_EQ(busy.size(), 3U);
  for (auto& [replica, spans] : busy) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_GE(spans[i].first, spans[i - 1].second - 1e-9);
  }
}

TEST_P(EveryStrategy, EveryByteReadBelongsToALoadAndCapacityHolds) {
  const MachineProfile machine = make_machine({make_tier("flash", Medium::flash, 1_ms, 30_GBps)});
  const Trace trace = make_chat({});
  SimulationOptions options;
  options.gpu_cache = Tokens(30'000);
  options.in_flight = 1;  // one at a time: no two requests share a read
  const PolicyConfig policy = make_policy(machine, GetParam(), kBlock, {50_GiB});
  const SimulationResult result = run(trace, machine, policy, options);
  Bytes loaded{};
  for (const RequestRecord& record : result.requests) {
    loaded += record.loaded * machine.prefill->kv_bytes_per_token;
    EXPECT_FALSE(record.gave_up);
  }
  EXPECT_EQ(result.tiers[0].read, loaded);
  EXPECT_EQ(result.tiers[0].loaded, loaded);
  const bool reads = GetParam() != Strategy::none;
  EXPECT_EQ(loaded > Bytes(0), reads);
  EXPECT_EQ(result.tiers[0].written > Bytes(0), reads);
}

INSTANTIATE_TEST_SUITE_P(Replay, EveryStrategy,
                         ::testing::Values(Strategy::none, Strategy::load_always, Strategy::threshold,
                                           Strategy::break_even),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST(Simulation, ASharedCacheServesFollowUpsOfAnotherReplicaAndPrivateOnesDoNot) {
  const MachineProfile machine = two_tier_machine();
  Trace trace = asked_twice(40 * 512);
  trace.requests[0].session = 2;
  trace.requests[1].session = 3;
  SimulationOptions options;
  options.replicas = 2;
  options.router = Router::session;
  const PolicyConfig policy = make_policy(machine, Strategy::break_even, kBlock, {100_GiB, 400_GiB});
  EXPECT_EQ(run(trace, machine, policy, options).requests[1].loaded, kBlock * 40);
  options.shared = false;
  EXPECT_EQ(run(trace, machine, policy, options).requests[1].loaded, Tokens(0));
}

TEST(Simulation, TheGpuCacheServesWhatItHoldsWithoutALoad) {
  const MachineProfile machine = two_tier_machine();
  const SimulationResult result =
      run(asked_twice(40 * 512), machine, flash_policy(machine, Strategy::load_always), {});
  EXPECT_EQ(result.requests[1].resident, kBlock * 40);
  EXPECT_EQ(result.requests[1].loaded, Tokens(0));
  EXPECT_EQ(result.requests[1].harm(), 1.0);
}

TEST(Simulation, TheGateHoldsAndItsAbsenceShows) {
  const MachineProfile machine = make_machine({make_tier("flash", Medium::flash, 1_ms, 20_GBps)});
  Trace trace = make_chat({.requests = 600, .conversations = 200, .rate = 8});
  SimulationOptions options;
  options.replicas = 4;
  options.gpu_cache = Tokens(0);
  PolicyConfig policy = make_policy(machine, Strategy::load_always, kBlock, {2000_GiB});
  EXPECT_GT(run(trace, machine, policy, options).tiers[0].most_reads_at_once, 3);
  policy.tiers[0].gate = 2;
  EXPECT_EQ(run(trace, machine, policy, options).tiers[0].most_reads_at_once, 2);
}

/// A document that has moved down to flash is asked for while a long prompt holds the GPU.
Trace asked_behind_a_long_prompt() {
  Trace trace;
  trace.name = "queued";
  trace.block_tokens = kBlock;
  for (std::uint64_t document = 1; document <= 2; ++document) {
    for (std::uint32_t i = 0; i < 40; ++i) trace.keys.push_back(BlockKey{document, i});
  }
  const Tokens document = kBlock * 40 + Tokens(100);
  const auto add = [&](double arrival, Tokens prompt, std::uint64_t first, std::uint32_t count) {
    trace.requests.push_back(
        {.arrival = Seconds(arrival), .prompt = prompt, .first_key = first, .key_count = count});
  };
  add(0, document, 0, 40);
  add(100, document, 40, 40);
  add(200, Tokens(60'000), 0, 0);
  add(200.1, document, 0, 40);
  return trace;
}

TEST(Simulation, PreloadWhileQueuedShortensTheWaitForALoad) {
  const MachineProfile machine = make_machine(
      {make_tier("dram", Medium::dram, 100_us, 40_GBps), make_tier("flash", Medium::flash, 2_ms, 8_GBps)});
  SimulationOptions options;
  options.gpu_cache = Tokens(0);
  PolicyConfig policy = make_policy(machine, Strategy::break_even, kBlock, {3_GiB, 100_GiB});
  const auto last = [&](bool preload) {
    policy.preload = preload;
    return run(asked_behind_a_long_prompt(), machine, policy, options).requests.back();
  };
  EXPECT_EQ(last(true).loaded, kBlock * 40);
  EXPECT_EQ(last(false).loaded, kBlock * 40);
  EXPECT_LT(last(true).exposed, last(false).exposed * 0.4);
}

TEST(Simulation, TheStopLossBoundsTheHarmOfADeviceThatIsTenTimesSlowerThanItsProfile) {
  const MachineProfile machine = make_machine({make_tier("flash", Medium::flash, 1_ms, 8_GBps)});
  const Trace trace = make_chat({});
  SimulationOptions options;
  options.replicas = 2;
  options.gpu_cache = Tokens(20'000);
  options.truth = {DeviceTruth{0.1, 1, 0.2}};
  const auto worst = [&](Strategy strategy) {
    double harm = 1;
    const PolicyConfig policy = make_policy(machine, strategy, kBlock, {2000_GiB});
    for (const RequestRecord& record : run(trace, machine, policy, options).requests) {
      harm = std::max(harm, record.harm());
    }
    return harm;
  };
  EXPECT_LE(worst(Strategy::break_even), 2.0 + 1e-6) << "waits no longer than recomputing takes";
  EXPECT_GT(worst(Strategy::load_always), 3.0) << "the check would not notice a missing stop-loss";
}

TEST(Simulation, ALoadThatIsGivenUpKeepsTheBlocksThatArrived) {
  const MachineProfile machine = make_machine({make_tier("flash", Medium::flash, 1_ms, 20_GBps)});
  SimulationOptions options;
  options.gpu_cache = Tokens(0);
  options.truth = {DeviceTruth{0.1, 1, 0}};
  const RequestRecord record = run(asked_twice(40 * 512), machine,
                                   make_policy(machine, Strategy::break_even, kBlock, {100_GiB}), options)
                                   .requests[1];
  EXPECT_TRUE(record.gave_up);
  EXPECT_GT(record.loaded, Tokens(0));
  EXPECT_LT(record.loaded, kBlock * 40);
  EXPECT_LT(record.compute, record.compute_all) << "what arrived is not computed again";
}

TEST(Simulation, DecodingSlowsPrefillAndIsNotCountedAsPrefill) {
  const MachineProfile machine = two_tier_machine();
  SimulationOptions options;
  const PolicyConfig policy = flash_policy(machine, Strategy::none);
  const SimulationResult alone = run(asked_twice(20 * 512), machine, policy, options);
  options.decode_share = 0.5;
  const SimulationResult beside = run(asked_twice(20 * 512), machine, policy, options);
  EXPECT_NEAR(beside.requests[0].ttft() / alone.requests[0].ttft(), 2, 1e-9);
  EXPECT_NEAR(beside.gpu / alone.gpu, 1, 1e-9);
}

TEST(Simulation, SaysWhichOptionIsWrong) {
  const MachineProfile machine = two_tier_machine();
  const PolicyConfig policy = flash_policy(machine, Strategy::none);
  const auto message = [&](const Trace& trace, const SimulationOptions& options) {
    const auto result = simulate(trace, machine, policy, options);
    return result ? std::string("accepted") : result.error().message();
  };
  Trace trace = asked_twice(1024);
  SimulationOptions options;
  options.replicas = 0;
  EXPECT_NE(message(trace, options).find("replicas"), std::string::npos);
  options = {};
  options.decode_share = 1;
  EXPECT_NE(message(trace, options).find("decoding"), std::string::npos);
  options = {};
  options.truth = {DeviceTruth{0, 1, 0}};
  EXPECT_NE(message(trace, options).find("positive speed"), std::string::npos);
  trace.block_tokens = Tokens(64);
  EXPECT_NE(message(trace, {}).find("64"), std::string::npos);
  trace.requests.clear();
  EXPECT_NE(message(trace, {}).find("no requests"), std::string::npos);
}

TEST(Router, KeepsSessionsTogetherAndDealsRoundRobinEvenly) {
  const Trace trace = make_chat({});
  std::vector<Replica> replicas(3, Replica(0));
  std::map<std::uint32_t, std::size_t> home;
  std::vector<int> dealt(3);
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const TraceRequest& request = trace.requests[i];
    const std::size_t at = route(Router::session, trace, request, i, replicas, Seconds(0));
    EXPECT_EQ(home.emplace(request.session, at).first->second, at);
    ++dealt[route(Router::round_robin, trace, request, i, replicas, Seconds(0))];
  }
  EXPECT_LE(*std::max_element(dealt.begin(), dealt.end()) - *std::min_element(dealt.begin(), dealt.end()), 1);
  replicas[0].queued = Seconds(3);
  replicas[2].queued = Seconds(1);
  EXPECT_EQ(route(Router::least_loaded, trace, trace.requests[0], 0, replicas, Seconds(0)), 1U);
}

}  // namespace
}  // namespace fulcrum::replay
