// Machines and traces that the tests of this room share: exact laws with round numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "replay/trace.h"

namespace fulcrum::replay {

inline TierProfile make_tier(std::string name, Medium medium, Seconds setup, BytesPerSecond read) {
  TierProfile tier;
  tier.name = std::move(name);
  tier.medium = medium;
  tier.setup = Measured<Seconds>::exact(setup, Verdict::good);
  tier.read = Measured<BytesPerSecond>::exact(read, Verdict::good);
  tier.sigma = Measured<double>::exact(0, Verdict::good);
  tier.k = Measured<double>::exact(0, Verdict::good);
  tier.write = Measured<BytesPerSecond>::exact(read, Verdict::good);
  tier.commit_half = Measured<Bytes>::exact(Bytes(0), Verdict::good);
  tier.read_during_writes = Measured<double>::exact(1, Verdict::good);
  tier.io_size = 1_MiB;
  tier.depth = 1;
  tier.verdict = Verdict::good;
  return tier;
}

/// 20 us and 1 ns a token squared: about an 8B model on one large GPU. 100,000 bytes of KV a token.
inline MachineProfile make_machine(std::vector<TierProfile> tiers) {
  MachineProfile machine;
  machine.tiers = std::move(tiers);
  PrefillProfile prefill;
  prefill.source = PrefillSource::csv;
  prefill.gpu = "test";
  prefill.model = "test";
  prefill.kv_bytes_per_token = BytesPerToken(100'000);
  prefill.cost.law.theta = {0, 0, 20e-6, 1e-9, 0, 0};
  prefill.cost.draws.assign(1, prefill.cost.law.theta);
  prefill.cost.domain = Tokens(1 << 20);
  prefill.cost.verdict = Verdict::good;
  machine.prefill = prefill;
  return machine;
}

inline MachineProfile two_tier_machine() {
  return make_machine(
      {make_tier("dram", Medium::dram, 100_us, 40_GBps), make_tier("flash", Medium::flash, 1_ms, 3_GBps)});
}

inline PolicyConfig make_policy(const MachineProfile& machine, Strategy strategy, Tokens block,
                                std::vector<Bytes> capacities) {
  PolicyConfig policy;
  policy.strategy = strategy;
  policy.block_tokens = block;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    TierPolicy tier;
    tier.name = machine.tiers[i].name;
    tier.profile = tier.name;
    tier.capacity = capacities[i];
    policy.tiers.push_back(std::move(tier));
  }
  return policy;
}

/// Conversations that grow turn by turn behind one shared system prompt; Poisson arrivals.
struct ChatOptions {
  int requests = 400;
  int conversations = 60;
  double rate = 3;  ///< per second
  std::int64_t block = 512;
  std::uint64_t seed = 3;
};

inline Trace make_chat(const ChatOptions& options) {
  Random random(options.seed);
  Trace trace;
  trace.name = "chat";
  trace.block_tokens = Tokens(options.block);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(options.conversations), 0);
  std::vector<std::uint64_t> names(lengths.size());
  for (std::uint64_t& name : names) name = random.next();
  double now = 0;
  for (int i = 0; i < options.requests; ++i) {
    now += random.exponential() / options.rate;
    const auto who = static_cast<std::size_t>(random.below(lengths.size()));
    lengths[who] += 700 + static_cast<std::int64_t>(random.below(6000));
    if (lengths[who] > 60'000) {  // a new conversation in its place
      lengths[who] = 2000;
      names[who] = random.next();
    }
    TraceRequest request;
    request.arrival = Seconds(now);
    request.prompt = Tokens(lengths[who] + 1);
    request.output = Tokens(200);
    request.session = static_cast<std::uint32_t>(who) + 1;
    request.first_key = trace.keys.size();
    request.key_count =
        static_cast<std::uint32_t>((request.prompt.value() + options.block - 1) / options.block);
    for (std::uint32_t b = 0; b < request.key_count; ++b) {
      trace.keys.push_back(BlockKey{b == 0 ? 1 : names[who], b + 1});
    }
    trace.requests.push_back(request);
  }
  return trace;
}

}  // namespace fulcrum::replay
