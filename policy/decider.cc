#include "fulcrum/decider.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "policy/decider_impl.h"

namespace fulcrum {
namespace {

// Remembered blocks that no tier holds: as many as the tiers could hold, and some where they are tiny.
std::size_t forgotten_most(const PolicyConfig& policy, const Costs& costs) {
  if (policy.strategy != Strategy::break_even) return 0;
  constexpr std::int64_t kLeast = 4096;
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  std::int64_t blocks = 0;
  for (const TierPolicy& tier : policy.tiers) blocks += tier.capacity.value() / costs.block_bytes().value();
  return static_cast<std::size_t>(std::clamp(blocks, kLeast, kMost));
}

std::array<int, kMaxTiers> gates(const PolicyConfig& policy, const Costs& costs) {
  std::array<int, kMaxTiers> gates{};
  for (std::size_t i = 0; i < policy.tiers.size(); ++i) {
    const int own = policy.tiers[i].gate;
    const bool priced = policy.strategy == Strategy::break_even;
    gates[i] = own > 0  ? own
               : priced ? costs.typical(static_cast<TierId>(i)).contention.gate()
                        : Traffic::kNoGate;
  }
  return gates;
}

WriteBudget paced(const TierPolicy& policy, const TierProfile& profile, Strategy strategy) {
  if (policy.write_limit) return {*policy.write_limit, *policy.write_limit * WriteBudget::kLimitBurst};
  const bool known = profile.medium != Medium::dram && profile.write.value > BytesPerSecond(0);
  if (strategy != Strategy::break_even || !known) return {};
  return {profile.write.value, profile.write.value * WriteBudget::kDeviceBurst};
}

/// More than this on its way down keeps no device busier: what is to follow is better chosen later.
std::optional<Bytes> coming_most(const TierProfile& profile, Strategy strategy) {
  const bool known = profile.medium != Medium::dram && profile.write.value > BytesPerSecond(0);
  if (strategy != Strategy::break_even || !known) return std::nullopt;
  return profile.write.value * WriteBudget::kDeviceBurst;
}

WriteBudget budget(const TierPolicy& policy, const TierProfile& profile, Strategy strategy) {
  WriteBudget own = paced(policy, profile, strategy);
  if (policy.write_limit_per_day) own.limit_day(*policy.write_limit_per_day);
  return own;
}

}  // namespace

Decider::Impl::Impl(PolicyConfig policy, MachineProfile profile)
    : policy_(std::move(policy)),
      profile_(std::move(profile)),
      costs_(policy_, profile_),
      valuation_(make_valuation(policy_, costs_)),
      orders_(index_, costs_.block_bytes()),
      residency_(policy_, costs_, *valuation_, index_, orders_, forgotten_most(policy_, costs_)),
      traffic_(costs_, gates(policy_, costs_)),
      planner_(costs_, *valuation_, index_, orders_, traffic_, policy_.margin, policy_.gpu_price),
      memory_first_(!policy_.tiers.empty() &&
                    profile_.tier(policy_.tiers.front().profile)->medium == Medium::dram),
      preloads_(policy_.preload && policy_.strategy == Strategy::break_even && policy_.tiers.size() > 1 &&
                memory_first_) {
  for (std::size_t i = 0; i < policy_.tiers.size(); ++i) {
    const TierPolicy& tier = policy_.tiers[i];
    states_[i].budget = budget(tier, *profile_.tier(tier.profile), policy_.strategy);
    const auto most = coming_most(*profile_.tier(tier.profile), policy_.strategy);
    states_[i].coming_most = std::max(most.value_or(kEndless), costs_.block_bytes());
  }
}

void Decider::Impl::advance(Seconds now) {
  FULCRUM_CHECK(now >= now_, "time does not go backwards");
  now_ = now;
  traffic_.advance(now);
  for (TierId tier = 0; tier < costs_.tiers(); ++tier) state(tier).budget.advance(now);
  if (now >= hints_end_) expire_hints();
}

TierCounters Decider::Impl::counters(TierId tier) const {
  const TierState& own = state(tier);
  const Residency::Tier& held = residency_.tier(tier);
  return {held.used,
          own.read,
          own.written,
          held.evicted,
          own.refused,
          traffic_.in_flight(tier),
          traffic_.queued(tier)};
}

std::size_t Decider::Impl::resident_blocks(std::span<const BlockKey> blocks, TierId tier) const {
  std::size_t held = 0;
  index_.walk(blocks, [&](NodeId id, std::uint32_t matched) {
    if ((index_[id].resident & bit(tier)) == 0) return false;
    held += matched;
    return true;
  });
  return held;
}

Result<Decider> Decider::create(PolicyConfig policy, MachineProfile profile) {
  const std::string where = "decider";
  for (TierPolicy& tier : policy.tiers) {
    if (tier.profile.empty()) tier.profile = tier.name;
    if (tier.capacity <= Bytes(0)) return bad_input(where, "tier '" + tier.name + "' has no capacity");
  }
  if (policy.tiers.size() > kMaxTiers) {
    return bad_input(where, "more than " + std::to_string(kMaxTiers) + " tiers");
  }
  if (policy.block_tokens <= Tokens(0)) return bad_input(where, "block_tokens is not positive");
  if (!profile.prefill || profile.prefill->kv_bytes_per_token <= BytesPerToken(0)) {
    return bad_input(where, "the profile has no prefill costs",
                     "calibrate with --prefill, --prefill-server or --prefill-datasheet");
  }
  if (const auto fits = policy.check_against(profile); !fits) return fits.error();
  return Decider(std::make_unique<Impl>(std::move(policy), std::move(profile)));
}

Decider::Decider(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decider::Decider(Decider&&) noexcept = default;
Decider& Decider::operator=(Decider&&) noexcept = default;
Decider::~Decider() = default;

void Decider::on_arrival(const Request& request, Seconds now) {
  impl_->on_arrival(request, now);
}
Plan Decider::on_schedule(const Request& request, Seconds now) {
  return impl_->on_schedule(request, now);
}
Plan Decider::plan(const Request& request, Seconds now) const {
  return impl_->plan(request, now);
}
void Decider::on_computed(std::span<const BlockKey> blocks, Seconds now) {
  impl_->on_computed(blocks, now);
}
void Decider::on_outcome(const Outcome& outcome, Seconds now) {
  impl_->on_outcome(outcome, now);
}
void Decider::on_cancel(RequestId request, Seconds now) {
  impl_->on_cancel(request, now);
}
void Decider::on_time(Seconds now) {
  impl_->on_time(now);
}
std::optional<Bytes> Decider::on_close(Bytes most, Seconds now) {
  return impl_->on_close(most, now);
}
std::vector<std::size_t> Decider::restore(TierId tier, std::span<const FoundRun> runs, Seconds now) {
  return impl_->restore(tier, runs, now);
}
void Decider::on_lost(TierId tier, std::span<const BlockKey> keys, Seconds now) {
  impl_->on_lost(tier, keys, now);
}
void Decider::on_health(TierId tier, bool readable, bool writable, Seconds now) {
  impl_->on_health(tier, readable, writable, now);
}
void Decider::on_speed(TierId tier, double factor, Seconds now) {
  impl_->on_speed(tier, factor, now);
}
double Decider::worth(TierId tier, std::span<const BlockKey> blocks) const {
  return impl_->worth(tier, blocks);
}
WriteBudgetState Decider::write_budget(TierId tier) const {
  FULCRUM_CHECK(tier >= 0 && index_of(tier) < policy().tiers.size(), "a tier of the policy");
  return impl_->write_budget(tier);
}
void Decider::restore_write_budget(TierId tier, const WriteBudgetState& state, Seconds down) {
  FULCRUM_CHECK(tier >= 0 && index_of(tier) < policy().tiers.size(), "a tier of the policy");
  impl_->restore_write_budget(tier, state, down);
}
std::vector<Order> Decider::take_orders() {
  return impl_->take_orders();
}

TierCounters Decider::counters(TierId tier) const {
  FULCRUM_CHECK(tier >= 0 && index_of(tier) < policy().tiers.size(), "a tier of the policy");
  return impl_->counters(tier);
}
std::size_t Decider::indexed_blocks() const {
  return impl_->indexed_blocks();
}
Bytes Decider::index_memory() const {
  return impl_->index_memory();
}
std::size_t Decider::resident_blocks(std::span<const BlockKey> blocks, TierId tier) const {
  return impl_->resident_blocks(blocks, tier);
}
const PolicyConfig& Decider::policy() const {
  return impl_->policy();
}
const MachineProfile& Decider::profile() const {
  return impl_->profile();
}

}  // namespace fulcrum
