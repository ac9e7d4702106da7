#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "fulcrum/cost.h"
#include "model/quantile.h"

namespace fulcrum {
namespace {

constexpr std::int64_t kLeastReach = std::int64_t{256} << 10;

PrefillLaw with(const PrefillLaw& law, const std::array<double, PrefillLaw::kTerms>& theta) {
  PrefillLaw drawn = law;
  drawn.theta = theta;
  return drawn;
}

std::vector<double> drawn_times(const PrefillCost& cost, Tokens fresh, Tokens cached) {
  const auto x = cost.law.regressors(fresh, cached);
  std::vector<double> times;
  times.reserve(cost.draws.size() + 1);
  for (const auto& theta : cost.draws) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += theta[i] * x[i];
    times.push_back(sum);
  }
  if (times.empty()) times.push_back(cost.law.time(fresh, cached).value());
  return times;
}

/// P(a new observation <= t): every draw equally likely, each with normal relative noise around it.
double predictive_cdf(const std::vector<double>& means, double residual, double t) {
  double sum = 0;
  for (const double mean : means) {
    const double spread = residual * mean;
    sum += spread > 0 ? normal_cdf((t - mean) / spread) : (t >= mean ? 1.0 : 0.0);
  }
  return sum / static_cast<double>(means.size());
}

double predictive_quantile(const std::vector<double>& means, double residual, double p) {
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  double low = *least * std::max(0.0, 1 - 8 * residual);
  double high = *most * (1 + 8 * residual);
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (predictive_cdf(means, residual, middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Mean and variance of the marginal price over the draws, as functions of the position.
struct Moments {
  double alpha = 0, beta = 0;
  double alpha_alpha = 0, alpha_beta = 0, beta_beta = 0;

  /// `z` deviations from the mean at x, with the noise of one observation added.
  [[nodiscard]] double at(double x, double z, double residual) const {
    const double mean = alpha + beta * x;
    const double drawn = std::max(0.0, alpha_alpha + 2 * alpha_beta * x + beta_beta * x * x);
    return mean + z * std::sqrt(drawn + residual * residual * mean * mean);
  }
};

Moments moments(const PrefillCost& cost) {
  const MarginalLaw centre = cost.law.marginal();
  Moments m{.alpha = centre.alpha, .beta = centre.beta};
  if (cost.draws.empty()) return m;
  double da = 0;
  double db = 0;
  for (const auto& theta : cost.draws) {
    const PrefillLaw drawn = with(cost.law, theta);
    const double a = drawn.alpha() - centre.alpha;
    const double b = drawn.beta() - centre.beta;
    da += a;
    db += b;
    m.alpha_alpha += a * a;
    m.alpha_beta += a * b;
    m.beta_beta += b * b;
  }
  const auto n = static_cast<double>(cost.draws.size());
  m.alpha += da / n;
  m.beta += db / n;
  m.alpha_alpha = m.alpha_alpha / n - da * da / (n * n);
  m.alpha_beta = m.alpha_beta / n - da * db / (n * n);
  m.beta_beta = m.beta_beta / n - db * db / (n * n);
  return m;
}

}  // namespace

Interval<Seconds> PrefillCost::predict(Tokens fresh, Tokens cached, double coverage) const {
  FULCRUM_CHECK(coverage > 0 && coverage < 1, "coverage lies between 0 and 1");
  const auto means = drawn_times(*this, fresh, cached);
  return {Seconds(predictive_quantile(means, residual, (1 - coverage) / 2)),
          Seconds(predictive_quantile(means, residual, (1 + coverage) / 2))};
}

Interval<Seconds> PrefillCost::expected(Tokens fresh, Tokens cached, double coverage) const {
  FULCRUM_CHECK(coverage > 0 && coverage < 1, "coverage lies between 0 and 1");
  const auto means = drawn_times(*this, fresh, cached);
  return {Seconds(sample_quantile(means, (1 - coverage) / 2)),
          Seconds(sample_quantile(means, (1 + coverage) / 2))};
}

Seconds PrefillCost::between_quantile(Tokens from, Tokens to, double quantile) const {
  FULCRUM_CHECK(from <= to, "a run of tokens has its ends in order");
  // The price of a run is its length times the price at its middle.
  const double middle = (static_cast<double>(from.value()) + static_cast<double>(to.value())) / 2;
  const double price = moments(*this).at(middle, normal_quantile(quantile), residual);
  return Seconds(std::max(0.0, price) * static_cast<double>((to - from).value()));
}

Tokens PrefillCost::marginal_reach() const {
  return std::max(domain, Tokens(kLeastReach));
}

MarginalLaw PrefillCost::marginal(double quantile) const {
  // mean + z*sqrt(quadratic) is convex in x for z > 0 and concave for z < 0, so its chord bounds it.
  const Moments m = moments(*this);
  const double z = normal_quantile(quantile);
  const auto reach = static_cast<double>(marginal_reach().value());
  const double start = m.at(0, z, residual);
  return {start, (m.at(reach, z, residual) - start) / reach};
}

}  // namespace fulcrum
