// Whatever happens, in whatever order: capacities, closure, gates and order books hold. And the same events
// give the same answers.
#include <gtest/gtest.h>

#include <map>

#include "base/checksum.h"
#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

struct Case {
  Strategy strategy;
  std::uint64_t seed;
};

// A host that does everything wrong that a host may do: it is late, loses reads, stops, forgets to answer.
class Chaos {
 public:
  Chaos(Decider& decider, std::uint64_t seed) : decider_(decider), host_(decider), random_(seed) {}

  void step() {
    now_ += Seconds(random_.exponential() * 0.2);
    switch (random_.below(8)) {
      case 0:
        arrive();
        break;
      case 1:
      case 2:
        schedule();
        break;
      case 3:
        decider_.on_computed(some_chain(), now_);
        break;
      case 4:
      case 5:
      case 6:
        finish_one();
        break;
      default:
        random_.below(2) == 0 ? decider_.on_cancel(1 + random_.below(next_), now_) : decider_.on_time(now_);
    }
    host_.collect();
    check();
  }
  void settle() {
    while (!host_.open().empty()) finish_one();
    check();
    check_closure();
  }

  void close() {
    while (decider_.on_close(block_bytes() * static_cast<std::int64_t>(1 + random_.below(9)), now_)
               .value_or(Bytes(0)) > Bytes(0)) {
      host_.collect();
      check();
      if (random_.below(3) == 0) finish_one();
    }
    settle();
  }

  [[nodiscard]] const Host& host() const { return host_; }
  [[nodiscard]] int closures_checked() const { return closures_; }
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  Chain some_chain() {
    Chain keys;
    std::uint32_t family = static_cast<std::uint32_t>(random_.below(8));
    while (keys.size() < 60 && (keys.empty() || random_.uniform() < 0.6)) {
      const Chain longer = chain(family, 1 + random_.below(20), keys);
      for (std::size_t i = keys.size(); i < longer.size(); ++i) {
        parents_.emplace(longer[i], i == 0 ? BlockKey{} : longer[i - 1]);
      }
      keys = longer;
      family = 100 + static_cast<std::uint32_t>(random_.below(3));
    }
    return keys;
  }
  void arrive() {
    const Chain blocks = some_chain();
    Request asked = request(next_++, blocks);
    asked.lead = Seconds(random_.uniform());
    decider_.on_arrival(asked, now_);
    waiting_.emplace(asked.id, blocks);
  }
  void schedule() {
    Chain blocks = some_chain();
    RequestId id = next_++;
    if (!waiting_.empty() && random_.below(2) == 0) {
      id = waiting_.begin()->first;
      blocks = std::move(waiting_.extract(id).mapped());
    }
    Request asked = request(id, blocks);
    asked.resident = Tokens(static_cast<std::int64_t>(random_.below(blocks.size() + 1)) * kBlockTokens);
    asked.gpu_load = random_.uniform();
    const Plan plan = decider_.on_schedule(asked, now_);
    EXPECT_GE(plan.load_end, plan.resident);
    EXPECT_LE(plan.load_end, plan.prompt);
    note(static_cast<std::uint64_t>(plan.load_end.value()));
    note(static_cast<std::uint64_t>(plan.reason.paid.value() * 1e9));
  }
  void finish_one() {
    if (host_.open().empty()) return;
    auto open = host_.open().begin();
    std::advance(open, static_cast<std::ptrdiff_t>(random_.below(host_.open().size())));
    const Order order = open->second;
    note(order.id * 8 + static_cast<std::uint64_t>(order.kind));
    for (const BlockKey& key : order.keys) note(key.low);
    const bool stopped = host_.called_off().contains(order.id);
    const std::uint64_t luck = random_.below(stopped ? 2 : 10);
    const auto blocks = static_cast<std::uint32_t>(random_.below(order.keys.size() + 1));
    const OutcomeKind kind = luck == 0   ? (stopped ? OutcomeKind::cancelled : OutcomeKind::failed)
                             : luck == 1 ? OutcomeKind::partial
                                         : OutcomeKind::done;
    host_.finish(order.id, kind, kind == OutcomeKind::cancelled ? 0 : blocks, now_);
  }
  void check() {
    const auto& tiers = decider_.policy().tiers;
    for (TierId tier = 0; tier < static_cast<TierId>(tiers.size()); ++tier) {
      const Bytes capacity = tiers[static_cast<std::size_t>(tier)].capacity;
      const Bytes held = block_bytes() * static_cast<std::int64_t>(host_.blocks_in(tier));
      ASSERT_LE(decider_.counters(tier).used, capacity);
      ASSERT_LE(held, decider_.counters(tier).used) << "the decider counts all that its orders put there";
    }
    if (++checks_ % 64 == 0) check_closure();
  }
  // A block without its parent is of no use; only an order in flight, or behind a gate, may keep one a while.
  void check_closure() {
    for (TierId tier = 0; tier < 3; ++tier) {
      if (decider_.counters(tier).loads_queued > 0) return;
    }
    ++closures_;
    std::set<BlockKey> moving;
    for (const auto& [id, order] : host_.open()) moving.insert(order.keys.begin(), order.keys.end());
    for (const auto& [key, parent] : parents_) {
      if (parent == BlockKey{} || !held(key) || held(parent)) continue;
      ASSERT_TRUE(moving.contains(key)) << "a block is held whose parent is nowhere";
    }
  }
  [[nodiscard]] bool held(const BlockKey& key) const {
    for (TierId tier = 0; tier < static_cast<TierId>(decider_.policy().tiers.size()); ++tier) {
      if (host_.holds(tier, key)) return true;
    }
    return false;
  }
  void note(std::uint64_t value) { fingerprint_ = hash64(std::as_bytes(std::span(&value, 1)), fingerprint_); }

  Decider& decider_;
  Host host_;
  Random random_;
  Seconds now_{};
  RequestId next_ = 1;
  int checks_ = 0;
  int closures_ = 0;
  std::map<RequestId, Chain> waiting_;
  std::map<BlockKey, BlockKey> parents_;
  std::uint64_t fingerprint_ = 0;
};

PolicyConfig chaotic_policy(Strategy strategy) {
  PolicyConfig config = policy(strategy, {{"dram", 70}, {"nvme", 150}, {"hdd", 400}});
  config.preload_staging = block_bytes() * 30;
  config.tiers[0].gate = 2;
  config.tiers[1].gate = 1;
  config.tiers[2].gate = 1;
  return config;
}

class DeciderProperty : public ::testing::TestWithParam<Case> {};

TEST_P(DeciderProperty, CapacitiesClosureAndBooksHoldAtEveryMoment) {
  Decider own = decider(chaotic_policy(GetParam().strategy));
  Chaos chaos(own, GetParam().seed);
  for (int step = 0; step < 3000 && !HasFatalFailure(); ++step) chaos.step();
  chaos.settle();
  chaos.close();
  EXPECT_GT(chaos.closures_checked(), 1);
  for (TierId tier = 0; tier < 3; ++tier) {
    EXPECT_EQ(block_bytes() * static_cast<std::int64_t>(chaos.host().blocks_in(tier)),
              own.counters(tier).used)
        << "with nothing in flight, the books agree";
    EXPECT_EQ(own.counters(tier).loads_in_flight, 0);
    EXPECT_EQ(own.counters(tier).loads_queued, 0);
  }
}

TEST_P(DeciderProperty, EqualEventsGiveEqualAnswers) {
  std::uint64_t fingerprints[2] = {};
  for (std::uint64_t& fingerprint : fingerprints) {
    Decider own = decider(chaotic_policy(GetParam().strategy));
    Chaos chaos(own, GetParam().seed);
    for (int step = 0; step < 1500; ++step) chaos.step();
    fingerprint = chaos.fingerprint();
  }
  EXPECT_EQ(fingerprints[0], fingerprints[1]);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Strategy strategy :
       {Strategy::break_even, Strategy::load_always, Strategy::threshold, Strategy::none}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) all.push_back({strategy, seed});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, DeciderProperty, ::testing::ValuesIn(cases()), [](const auto& parameter) {
  return std::string(to_string(parameter.param.strategy)) + "_seed" + std::to_string(parameter.param.seed);
});

}  // namespace
}  // namespace fulcrum::testing
