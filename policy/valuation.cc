#include "policy/valuation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/baselines.h"

namespace fulcrum {

Rule rule_of(const PolicyConfig& policy) {
  return {policy.strategy, policy.margin, policy.stop_loss, policy.threshold_tokens};
}

std::size_t choose(const Rule& rule, std::span<const Alternative> alternatives, Seconds lead,
                   double gpu_price) {
  switch (rule.strategy) {
    case Strategy::break_even:
      return BreakEven::most_gain(rule, alternatives, lead, gpu_price);
    case Strategy::load_always:
      return deepest(alternatives, Tokens(0));
    case Strategy::threshold:
      return deepest(alternatives, rule.threshold);
    case Strategy::none:
      break;
  }
  return 0;
}

std::unique_ptr<Valuation> make_valuation(const PolicyConfig& policy, const Costs& costs) {
  switch (policy.strategy) {
    case Strategy::break_even:
      return std::make_unique<BreakEven>(policy, costs);
    case Strategy::load_always:
      return std::make_unique<LoadAlways>(Tokens(0));
    case Strategy::threshold:
      return std::make_unique<LoadAlways>(policy.threshold_tokens);
    case Strategy::none:
      break;
  }
  return std::make_unique<None>();
}

BreakEven::BreakEven(const PolicyConfig& policy, const Costs& costs)
    : rule_(rule_of(policy)),
      reuse_prior_(policy.reuse_prior),
      half_life_(policy.reuse_half_life),
      costs_(costs) {}

std::size_t BreakEven::most_gain(const Rule& rule, std::span<const Alternative> alternatives, Seconds lead,
                                 double gpu_price) {
  std::size_t best = 0;
  Seconds most(0);
  for (std::size_t i = 1; i < alternatives.size(); ++i) {
    const Seconds exposed = alternatives[i].exposed(lead);
    const Seconds gain = alternatives[i].saved * gpu_price - exposed - rule.margin;
    if (gain > most && exposed <= alternatives[i].saved * rule.stop_loss) {
      most = gain;
      best = i;
    }
  }
  return best;
}

std::size_t BreakEven::choose(std::span<const Alternative> alternatives, Seconds lead,
                              double gpu_price) const {
  return most_gain(rule_, alternatives, lead, gpu_price);
}

Seconds BreakEven::patience(Seconds saved) const {
  return saved * rule_.stop_loss;
}

bool BreakEven::admits(TierId tier, Tokens reach) const {
  return costs_.gain(tier, reach) > rule_.margin;
}

double BreakEven::worth(TierId tier, const BlockUse& use) const {
  const Seconds gain = costs_.gain(tier, use.reach);
  if (gain <= rule_.margin) return -std::numeric_limits<double>::infinity();
  // A run in front may lose on its own and yet carry the deeper ones: then its share of the chain counts.
  const double middle = static_cast<double>(use.from.value() + use.to.value()) / 2;
  const double own = costs_.marginal(tier, middle);
  const double share = gain.value() / static_cast<double>(use.reach.value());
  const double again = use.uses - 1.0;  // uses of the past are evidence beside the prior, which counts as one
  const double chance = (reuse_prior_ + again) / (1 + again);
  if (chance <= 0) return -std::numeric_limits<double>::infinity();
  return std::log2(chance * std::max(own, share)) + use.used / half_life_;
}

}  // namespace fulcrum
