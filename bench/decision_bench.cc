// One decision: chains of 100, 2,000 and 20,000 blocks in an index of many sessions, over two tiers. And one
// block that the drive loses, of an index of many chains.
//
// Besides the mean, every benchmark reports p50 and p99 of single decisions in microseconds, and what the
// index takes for a block. `branches` is the number of nodes that the chain runs through.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "base/clock.h"
#include "fulcrum/decider.h"

namespace fulcrum {
namespace {

constexpr std::int64_t kBlockTokens = 16;

MachineProfile machine() {
  const auto tier = [](const char* name, Medium medium, Seconds setup, BytesPerSecond read) {
    TierProfile made;
    made.name = name;
    made.medium = medium;
    made.setup = Measured<Seconds>::exact(setup, Verdict::good);
    made.read = made.write = Measured<BytesPerSecond>::exact(read, Verdict::good);
    made.sigma = made.k = Measured<double>::exact(0.01, Verdict::good);
    made.verdict = Verdict::good;
    return made;
  };
  MachineProfile profile;
  profile.tiers = {tier("dram", Medium::dram, 500_us, 50_GBps), tier("nvme", Medium::flash, 1_ms, 6_GBps)};
  PrefillProfile prefill;
  prefill.source = PrefillSource::datasheet;
  prefill.kv_bytes_per_token = BytesPerToken(131'072);
  prefill.cost.law.theta = {0.004, 0.002, 25.7e-6, 0.96e-9, 4e-8, 1e-6};
  prefill.cost.law.chunk_tokens = 8192;
  prefill.cost.law.knee_tokens = 256;
  prefill.cost.law.tile_tokens = 128;
  prefill.cost.verdict = Verdict::good;
  profile.prefill = prefill;
  return profile;
}

void extend(std::vector<BlockKey>& keys, std::int32_t seed, std::size_t blocks) {
  BlockKey last = keys.empty() ? BlockKey::root(Namespace{}) : keys.back();
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::array<std::int32_t, 2> tokens{seed, static_cast<std::int32_t>(i)};
    keys.push_back(last = BlockKey::next(last, tokens));
  }
}

/// Host memory holds so many blocks, the drive all.
Decider make_decider(std::size_t in_dram) {
  PolicyConfig policy;
  policy.strategy = Strategy::load_always;  // writes through: the drive has what memory has not
  policy.block_tokens = Tokens(kBlockTokens);
  policy.preload = false;
  for (const char* name : {"dram", "nvme"}) {
    TierPolicy tier;
    tier.name = tier.profile = name;
    tier.capacity = policy.tiers.empty() ? 2_MiB * static_cast<std::int64_t>(in_dram) : 4096_GiB;
    policy.tiers.push_back(tier);
  }
  auto decider = Decider::create(policy, machine());
  if (decider) return std::move(*decider);
  std::cerr << decider.error().message() << '\n';
  std::abort();
}

class Bench {
 public:
  /// A chain of `blocks`, offered turn by turn, which other sessions leave at `branches` places. Its front
  /// half is in host memory, all of it on the drive.
  Bench(std::size_t blocks, std::size_t branches) : decider_(make_decider(blocks / 2)) {
    for (int session = 0; session < 500; ++session) {
      std::vector<BlockKey> other;
      extend(other, 10'000 + session, 200);
      offer(other);
    }
    for (std::size_t turn = 1; turn <= branches; ++turn) {
      grow(blocks * turn / branches);
      if (turn == branches) break;
      std::vector<BlockKey> other = chain_;
      extend(other, static_cast<std::int32_t>(turn), 40);
      offer(other);
    }
    request_.prompt = Tokens(static_cast<std::int64_t>(chain_.size()) * kBlockTokens + 200);
    request_.blocks = chain_;
    request_.lead = 20_ms;
  }

  [[nodiscard]] Plan decide() const { return decider_.plan(request_, now_); }
  [[nodiscard]] double bytes_per_block() const {
    return static_cast<double>(decider_.index_memory().value()) /
           static_cast<double>(decider_.indexed_blocks());
  }

 private:
  void grow(std::size_t blocks) {
    extend(chain_, 0, blocks - chain_.size());
    offer(chain_);
  }
  void offer(const std::vector<BlockKey>& keys) {
    now_ += 1_s;
    decider_.on_computed(keys, now_);
    for (const Order& order : decider_.take_orders()) {
      decider_.on_outcome({order.id, OutcomeKind::done, static_cast<std::uint32_t>(order.keys.size()), 0_s},
                          now_);
    }
  }

  Decider decider_;
  std::vector<BlockKey> chain_;
  Request request_;
  Seconds now_{};
};

void decide(benchmark::State& state) {
  const Bench bench(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  const SteadyClock clock;
  std::vector<double> times;
  times.reserve(1 << 20);
  while (state.KeepRunning()) {
    const Seconds start = clock.now();
    Plan plan = bench.decide();
    const Seconds end = clock.now();
    benchmark::DoNotOptimize(plan.load_end);
    if (times.size() < times.capacity()) times.push_back((end - start).value() * 1e6);
  }
  std::sort(times.begin(), times.end());
  state.counters["p50_us"] = times[times.size() / 2];
  state.counters["p99_us"] = times[times.size() * 99 / 100];
  state.counters["blocks_found"] = bench.decide().load_end / Tokens(kBlockTokens);
  state.counters["bytes_per_block"] = bench.bytes_per_block();
}
BENCHMARK(decide)
    ->ArgNames({"blocks", "branches"})
    ->Args({100, 1})
    ->Args({100, 10})
    ->Args({2'000, 1})
    ->Args({2'000, 10})
    ->Args({2'000, 50})
    ->Args({20'000, 1})
    ->Args({20'000, 50})
    ->Args({20'000, 200});

// The last block of one chain of many. It is held again before the next time.
void lose_one_block(benchmark::State& state) {
  const auto chains = static_cast<std::int32_t>(state.range(0));
  const auto blocks = static_cast<std::size_t>(state.range(1));
  Decider decider = make_decider(1);
  std::vector<std::vector<BlockKey>> keys(static_cast<std::size_t>(chains));
  std::vector<FoundRun> runs;
  for (std::int32_t i = 0; i < chains; ++i) {
    extend(keys[static_cast<std::size_t>(i)], i, blocks);
    runs.push_back({.parent = {}, .first = 0, .keys = keys[static_cast<std::size_t>(i)], .age = 0_s});
  }
  if (!decider.restore(1, runs, 1_s).empty()) state.SkipWithError("the drive has no room");
  std::size_t at = 0;
  for (auto _ : state) {
    const std::vector<BlockKey>& chain = keys[at];
    at = (at + 7919) % keys.size();
    decider.on_lost(1, {&chain.back(), 1}, 1_s);
    state.PauseTiming();
    const FoundRun back{.parent = chain[blocks - 2],
                        .first = static_cast<std::uint32_t>(blocks - 1),
                        .keys = {&chain.back(), 1},
                        .age = 0_s};
    if (!decider.restore(1, {&back, 1}, 1_s).empty()) state.SkipWithError("it cannot be held again");
    (void)decider.take_orders();
    state.ResumeTiming();
  }
  state.counters["bytes_per_block"] =
      static_cast<double>(decider.index_memory().value()) / static_cast<double>(decider.indexed_blocks());
}
BENCHMARK(lose_one_block)
    ->ArgNames({"chains", "blocks"})
    ->Args({50'000, 20})
    ->Iterations(100)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fulcrum

BENCHMARK_MAIN();
