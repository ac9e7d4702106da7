#include "decider_fixture.h"

#include <array>

namespace fulcrum::testing {
namespace {

TierProfile tier(const char* name, Medium medium, Seconds setup, BytesPerSecond read, double k) {
  TierProfile profile;
  profile.name = name;
  profile.medium = medium;
  profile.setup = Measured<Seconds>::exact(setup, Verdict::good);
  profile.read = Measured<BytesPerSecond>::exact(read, Verdict::good);
  profile.write = Measured<BytesPerSecond>::exact(read, Verdict::good);
  profile.sigma = Measured<double>::exact(0.5, Verdict::good);
  profile.k = Measured<double>::exact(k, Verdict::good);
  profile.verdict = Verdict::good;
  return profile;
}

}  // namespace

MachineProfile machine() {
  MachineProfile profile;
  profile.tiers = {tier("dram", Medium::dram, 500_us, 50_GBps, 0),
                   tier("nvme", Medium::flash, 1_ms, 6_GBps, 0.01),
                   tier("hdd", Medium::hdd, 30_ms, 500_MBps, 0.1)};
  PrefillProfile prefill;
  prefill.source = PrefillSource::csv;
  prefill.kv_bytes_per_token = BytesPerToken(131'072);
  prefill.cost.law.theta = {0, 0, 25.7e-6, 0.96e-9};
  prefill.cost.verdict = Verdict::good;
  prefill.cost.domain = Tokens(131'072);
  profile.prefill = prefill;
  return profile;
}

Bytes block_bytes() {
  return Tokens(kBlockTokens) * BytesPerToken(131'072);
}

PolicyConfig policy(Strategy strategy, const std::vector<TierSize>& tiers) {
  PolicyConfig config;
  config.strategy = strategy;
  config.block_tokens = Tokens(kBlockTokens);
  for (const TierSize& size : tiers) {
    TierPolicy own;
    own.name = size.name;
    own.profile = size.name;
    own.capacity = block_bytes() * size.blocks;
    config.tiers.push_back(own);
  }
  return config;
}

Decider decider(const PolicyConfig& policy, const MachineProfile& profile) {
  auto made = Decider::create(policy, profile);
  if (!made) {
    ADD_FAILURE() << made.error().message();
    std::abort();
  }
  return std::move(*made);
}

Chain chain(std::uint32_t seed, std::size_t blocks, const Chain& front) {
  Chain keys = front;
  BlockKey last = front.empty() ? BlockKey::root(Namespace{"test", {}, {}, 1, {}}) : front.back();
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::array<std::int32_t, 2> tokens{static_cast<std::int32_t>(seed), static_cast<std::int32_t>(i)};
    keys.push_back(last = BlockKey::next(last, tokens));
  }
  return keys;
}

Request request(RequestId id, const Chain& blocks, std::int64_t fresh) {
  Request asked;
  asked.id = id;
  asked.prompt = Tokens(static_cast<std::int64_t>(blocks.size()) * kBlockTokens + fresh);
  asked.blocks = blocks;
  return asked;
}

void Host::apply(const Order& order) {
  EXPECT_EQ(order.bytes, block_bytes() * static_cast<std::int64_t>(order.keys.size()));
  if (order.source >= 0) {
    const Books& source = tiers_[static_cast<std::size_t>(order.source)];
    for (const BlockKey& key : order.keys) {
      EXPECT_TRUE(source.held.contains(key)) << to_string(order.kind) << " of a block that is not there";
    }
  }
  if (order.kind == OrderKind::erase) {
    for (const BlockKey& key : order.keys) tiers_[static_cast<std::size_t>(order.source)].held.erase(key);
  } else if (order.target >= 0) {
    for (const BlockKey& key : order.keys) ++tiers_[static_cast<std::size_t>(order.target)].held[key];
  }
}

void Host::collect() {
  for (Order& order : decider_.take_orders()) {
    if (order.kind == OrderKind::cancel) {
      called_off_.insert(order.id);
      continue;
    }
    apply(order);
    history_.push_back(order);
    if (order.kind == OrderKind::erase) continue;
    EXPECT_TRUE(open_.emplace(order.id, order).second) << "order numbers are not used twice";
  }
}

void Host::finish(OrderId id, OutcomeKind kind, std::uint32_t blocks, Seconds now) {
  const Order order = open_.extract(id).mapped();
  const auto all = static_cast<std::uint32_t>(order.keys.size());
  const std::uint32_t arrived = kind == OutcomeKind::done ? all : std::min(blocks, all);
  if (order.target >= 0) {
    auto& held = tiers_[static_cast<std::size_t>(order.target)].held;
    for (std::size_t i = arrived; i < order.keys.size(); ++i) {
      if (--held[order.keys[i]] == 0) held.erase(order.keys[i]);
    }
  }
  decider_.on_outcome({id, kind, arrived, Seconds(0)}, now);
  collect();
}

void Host::finish_all(Seconds now) {
  collect();
  while (!open_.empty()) finish(open_.begin()->first, OutcomeKind::done, 0, now);
}

std::size_t Host::count(OrderKind kind) const {
  std::size_t found = 0;
  for (const Order& order : history_) found += order.kind == kind ? 1 : 0;
  return found;
}

std::size_t Host::blocks_in(TierId tier) const {
  return tiers_[static_cast<std::size_t>(tier)].held.size();
}

bool Host::holds(TierId tier, const BlockKey& key) const {
  return tiers_[static_cast<std::size_t>(tier)].held.contains(key);
}

}  // namespace fulcrum::testing
