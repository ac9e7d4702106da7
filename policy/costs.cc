#include "policy/costs.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fulcrum {
namespace {

// Least half-width of an interval, as a share of the value, that a verdict lets us believe.
double least_width(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
    case Verdict::cpu_bound:
      return 0;
    case Verdict::noisy:
      return 0.10;
    case Verdict::throttled:
    case Verdict::estimated:
      return 0.25;
    case Verdict::cached:
    case Verdict::invalid:
      break;
  }
  return 0.75;
}

// Share of the way from the value to the 95 % end of its interval at which `quantile` lies, if errors are
// normal: z(q) / z(0.975). Bisection: it is asked once per decider.
double way_to_end(double quantile) {
  double low = -4;
  double high = 4;
  for (int i = 0; i < 60; ++i) {
    const double z = (low + high) / 2;
    (0.5 * std::erfc(-z / std::sqrt(2.0)) < quantile ? low : high) = z;
  }
  return low / 1.959964;
}

template <class T>
double toward(const Measured<T>& measured, double sign, double way, double width) {
  const auto value = static_cast<double>(measured.value.value());
  const auto end = static_cast<double>((sign > 0 ? measured.high : measured.low).value());
  return value + sign * way * std::max(std::abs(end - value), width * std::abs(value));
}

TransferLaw at_quantile(const TierProfile& tier, double quantile) {
  const double way = way_to_end(quantile);
  const double width = least_width(tier.verdict);
  const TransferLaw end = tier.transfer_slow();
  TransferLaw law = tier.transfer();
  law.setup = Seconds(std::max(0.0, toward(tier.setup, +1, way, width)));
  law.contention.single = BytesPerSecond(std::max(toward(tier.read, -1, way, width), 1.0));
  law.contention.sigma += std::clamp(way, 0.0, 1.0) * (end.contention.sigma - law.contention.sigma);
  law.contention.k += std::clamp(way, 0.0, 1.0) * (end.contention.k - law.contention.k);
  return law;
}

}  // namespace

Costs::Costs(const PolicyConfig& policy, const MachineProfile& profile)
    : tiers_(static_cast<TierId>(policy.tiers.size())), block_tokens_(policy.block_tokens) {
  FULCRUM_CHECK(profile.prefill.has_value(), "the profile has prefill costs");
  const PrefillProfile& prefill = *profile.prefill;
  kappa_ = prefill.kv_bytes_per_token;
  block_bytes_ = block_tokens_ * kappa_;
  fixed_bytes_ = prefill.kv_bytes_fixed;
  prefill_ = prefill.cost.law;
  compute_ = prefill.cost.marginal(policy.compute_quantile);
  for (std::size_t i = 0; i < policy.tiers.size(); ++i) {
    const TierProfile* tier = profile.tier(policy.tiers[i].profile);
    FULCRUM_CHECK(tier != nullptr, "every tier of the policy is in the profile");
    slow_[i] = at_quantile(*tier, policy.load_quantile);
    typical_[i] = tier->transfer();
    speed_[i] = 1;
  }
}

void Costs::set_speed(TierId tier, double factor) {
  const std::size_t i = index_of(tier);
  const double change = factor / speed_[i];
  for (TransferLaw* law : {&slow_[i], &typical_[i]}) {
    law->setup = law->setup * change;
    law->contention.single = law->contention.single / change;
  }
  speed_[i] = factor;
}

Seconds Costs::saved(Tokens from, Tokens to) const {
  return std::max(Seconds(0), compute_.between(from, to));
}

Seconds Costs::gain(TierId tier, Tokens reach) const {
  return saved(Tokens(0), reach) - slow(tier).time(reach * kappa_ + fixed_bytes_);
}

double Costs::marginal(TierId tier, double position) const {
  return compute_.alpha + compute_.beta * position - kappa_.value() / slow(tier).contention.single.value();
}

double gpu_price(double utilisation) {
  const double idle = 1 - std::clamp(utilisation, 0.0, 0.8);
  return 1 / (idle * idle);
}

}  // namespace fulcrum
