#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "fulcrum/cost.h"
#include "model/quantile.h"

namespace fulcrum {
namespace {

constexpr double kNormal95 = 1.959963984540054;
constexpr std::size_t kFewestDraws = 400;
constexpr double kMoreThanAnyTier = 1e18;  // bytes/s, for tokens that cost nothing to compute

/// One value from an interval: normal on either side of the value, with 2.5 % beyond each end.
template <class T>
double draw(const Measured<T>& m, Random& random) {
  const double z = random.normal() / kNormal95;
  const double side = z < 0 ? (m.value - m.low).value() : (m.high - m.value).value();
  return m.value.value() + z * side;
}

double seconds_per_token(BytesPerToken kappa, double rate) {
  return kappa.value() / rate;
}

/// Middle 95 % of `values`, stretched to hold `value`.
Interval<double> middle(std::vector<double> values, double value) {
  std::sort(values.begin(), values.end());
  return {std::min(value, sample_quantile(values, 0.025)), std::max(value, sample_quantile(values, 0.975))};
}

Tokens to_tokens(double tokens) {
  constexpr double kLongest = 1e15;  // far beyond any prompt, and exact in a double
  return tokens < kLongest ? Tokens(std::llround(tokens)) : kNever;
}

}  // namespace

Tokens break_even_prefix(double alpha, double beta, double seconds_per_token, Seconds setup, Seconds lead) {
  FULCRUM_CHECK(beta >= 0 && seconds_per_token >= 0, "costs a token are not negative");
  const double excess = seconds_per_token - alpha;  // of a loaded token over a shallow computed one
  const double wait = std::max(0.0, (setup - lead).value());
  if (excess <= 0 && wait == 0) return Tokens(0);
  const double root = std::sqrt(excess * excess + 2 * beta * wait);
  double prefix = 0;
  if (excess < 0) {
    prefix = 2 * wait / (root - excess);  // the same root, without cancellation and good for beta = 0
  } else if (beta > 0) {
    prefix = (excess + root) / beta;
  } else {
    return kNever;
  }
  return to_tokens(std::ceil(prefix - 1e-9));
}

BytesPerSecond break_even_bandwidth(BytesPerToken kappa, double alpha, double beta, Tokens position) {
  const double price = alpha + beta * static_cast<double>(position.value());
  return BytesPerSecond(price > 0 ? kappa.value() / price : kMoreThanAnyTier);
}

Measured<Tokens> break_even(const PrefillCost& prefill, const LoadTerms& load, std::uint64_t seed) {
  FULCRUM_CHECK(load.rate.value.value() > 0 && load.kappa.value() > 0, "a load moves bytes");
  const auto at = [&](const MarginalLaw& law, double rate, double setup) {
    const Seconds first(setup + static_cast<double>(load.fixed.value()) / rate);
    return break_even_prefix(law.alpha, law.beta, seconds_per_token(load.kappa, rate), first, load.lead);
  };
  const Tokens value = at(prefill.law.marginal(), load.rate.value.value(), load.setup.value.value());

  Random random = Random(seed).split("break even");
  const std::size_t draws = std::max(kFewestDraws, prefill.draws.size());
  std::vector<double> prefixes;
  prefixes.reserve(draws);
  PrefillLaw law = prefill.law;
  for (std::size_t i = 0; i < draws; ++i) {
    if (!prefill.draws.empty()) law.theta = prefill.draws[i % prefill.draws.size()];
    const double rate = std::max(draw(load.rate, random), 0.01 * load.rate.value.value());
    const double setup = std::max(draw(load.setup, random), 0.0);
    prefixes.push_back(static_cast<double>(at(law.marginal(), rate, setup).value()));
  }
  const Interval<double> range = middle(std::move(prefixes), static_cast<double>(value.value()));
  return {value, to_tokens(range.low), to_tokens(range.high), std::min(load.rate.samples, load.setup.samples),
          std::max({prefill.verdict, load.rate.verdict, load.setup.verdict})};
}

Measured<BytesPerSecond> bandwidth_needed(const PrefillCost& prefill, BytesPerToken kappa, Tokens position) {
  const auto at = [&](const PrefillLaw& law) {
    return break_even_bandwidth(kappa, law.alpha(), law.beta(), position).value();
  };
  const double value = at(prefill.law);
  std::vector<double> rates = {value};
  PrefillLaw law = prefill.law;
  for (const auto& theta : prefill.draws) {
    law.theta = theta;
    rates.push_back(at(law));
  }
  const int samples = static_cast<int>(rates.size()) - 1;
  const Interval<double> range = middle(std::move(rates), value);
  return {BytesPerSecond(value), BytesPerSecond(range.low), BytesPerSecond(range.high), samples,
          prefill.verdict};
}

}  // namespace fulcrum
