#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"
#include "fulcrum/cost.h"
#include "model/nnls_fit.h"
#include "model/quantile.h"

namespace fulcrum {
namespace {

constexpr std::size_t kTerms = PrefillLaw::kTerms;
using Theta = std::array<double, kTerms>;

/// The hinge is fitted as sum(max(c~, n_h)) = sum(c~) + sum(max(0, n_h - c~)): non-negative coefficients
/// then mean th5 <= th2, so more tokens never cost less.
Theta to_fit_basis(const Theta& x) {
  Theta basis = x;
  basis[5] = x[2] + x[5];
  return basis;
}

/// Tokens and attention first: they exist in every prefill. Then the floor of short calls, which shows only
/// where samples lie on it; then overheads. What the samples cannot tell apart falls off the end.
constexpr std::array<std::size_t, kTerms> kPreference = {2, 3, 5, 0, 1, 4};

/// How far an outlier may stand off, in robust deviations, before it is pulled in. Rarely met by normal
/// noise; needs this many degrees of freedom to know what normal is.
constexpr double kOutlier = 3.0;
constexpr int kOutlierDegrees = 4;
constexpr double kNoisy = 0.10;

/// Samples as a linear problem in the kept columns.
struct Problem {
  std::vector<double> seconds;
  std::vector<std::size_t> kept;
  DesignMatrix design;  ///< kept columns only
};

/// The point fit and what is left over, relative to the fitted time.
struct Solution {
  std::vector<double> coefficients;
  std::vector<double> fitted;
  std::vector<double> residuals;  ///< outliers pulled in
  double deviation = 0;
  int degrees = 1;
};

Result<void> validate(std::span<const PrefillSample> samples, const PrefillFitOptions& options) {
  FULCRUM_CHECK(options.draws >= 0 && options.chunk_tokens >= 0 && options.tile_tokens >= 1, "fit options");
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const PrefillSample& s = samples[i];
    const std::string row = "sample " + std::to_string(i + 1) + ": ";
    if (s.fresh.value() <= 0) return bad_input("prefill samples", row + "new tokens must be 1 or more");
    if (s.cached.value() < 0) return bad_input("prefill samples", row + "cached tokens must not be negative");
    if (!std::isfinite(s.time.value()) || s.time.value() <= 0) {
      return bad_input("prefill samples", row + "the time must be a positive number of seconds",
                       "remove the row or measure it again");
    }
    shapes.emplace(s.fresh.value(), s.cached.value());
  }
  if (shapes.size() < 3) {
    return bad_input("prefill samples",
                     std::to_string(shapes.size()) + " different (new, cached) shapes; at least 3 are needed",
                     "measure e.g. 1K, 4K and 16K new tokens with nothing cached");
  }
  return {};
}

Problem make_problem(std::span<const PrefillSample> samples, const PrefillLaw& law) {
  Problem problem;
  DesignMatrix all{kTerms, {}};
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const PrefillSample& s : samples) {
    shapes.emplace(s.fresh.value(), s.cached.value());
    problem.seconds.push_back(s.time.value());
    for (const double x : to_fit_basis(law.regressors(s.fresh, s.cached))) {
      all.values.push_back(x / s.time.value());
    }
  }
  problem.kept = independent_columns(all, kPreference, shapes.size() - 1);
  problem.design.columns = problem.kept.size();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const std::size_t j : problem.kept) {
      problem.design.values.push_back(all.at(i, j) * problem.seconds[i]);
    }
  }
  return problem;
}

/// Rows divided by the fitted times, so that residuals are relative and their weights do not depend on the
/// noise.
DesignMatrix relative_to(const DesignMatrix& design, const std::vector<double>& fitted) {
  DesignMatrix relative = design;
  for (std::size_t i = 0; i < relative.values.size(); ++i) relative.values[i] /= fitted[i / design.columns];
  return relative;
}

std::vector<double> fitted_times(const DesignMatrix& design, const std::vector<double>& coefficients) {
  std::vector<double> times(design.rows(), 0.0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t j = 0; j < design.columns; ++j) times[i] += design.at(i, j) * coefficients[j];
  }
  return times;
}

int degrees_of_freedom(const std::vector<double>& coefficients, std::size_t rows) {
  const auto used = std::count_if(coefficients.begin(), coefficients.end(), [](double c) { return c > 0; });
  return std::max(1, static_cast<int>(rows) - static_cast<int>(used));
}

/// Pulls residuals in to kOutlier robust deviations (Huber's pseudo-values).
void pull_in(std::vector<double>& residuals, int degrees) {
  if (degrees < kOutlierDegrees) return;
  std::vector<double> sizes;
  sizes.reserve(residuals.size());
  for (const double r : residuals) sizes.push_back(std::abs(r));
  const double inflation = std::sqrt(static_cast<double>(residuals.size()) / degrees);
  const double limit = kOutlier * 1.4826 * sample_quantile(std::move(sizes), 0.5) * inflation;
  for (double& r : residuals) r = std::clamp(r, -limit, limit);
}

Solution solve(const Problem& problem) {
  Solution s;
  const std::size_t rows = problem.seconds.size();
  s.fitted = problem.seconds;
  std::vector<double> target(rows, 1.0);
  for (int round = 0; round < 30; ++round) {
    const NonNegativeLeastSquares fit(relative_to(problem.design, s.fitted));
    s.coefficients = fit.solve(target);
    const std::vector<double> next = fitted_times(problem.design, s.coefficients);
    double change = 0;
    for (std::size_t i = 0; i < rows; ++i) change = std::max(change, std::abs(next[i] / s.fitted[i] - 1));
    s.fitted = next;
    s.degrees = degrees_of_freedom(s.coefficients, rows);
    s.residuals.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) s.residuals[i] = problem.seconds[i] / s.fitted[i] - 1;
    pull_in(s.residuals, s.degrees);
    for (std::size_t i = 0; i < rows; ++i) target[i] = 1 + s.residuals[i];
    if (change < 1e-9) break;
  }
  const double sum = std::inner_product(s.residuals.begin(), s.residuals.end(), s.residuals.begin(), 0.0);
  s.deviation = std::sqrt(sum / s.degrees);
  return s;
}

Theta to_theta(const std::vector<std::size_t>& kept, const std::vector<double>& coefficients) {
  Theta theta{};
  for (std::size_t j = 0; j < kept.size(); ++j) theta[kept[j]] = coefficients[j];
  theta[2] += theta[5];
  return theta;
}

/// By how much each sample would miss a fit that had not seen it: residual / (1 - leverage). A fit bends
/// towards its samples, most of all towards the corners of the plane, so its own residuals are too small.
/// Around 0; a little wider, because few samples say little about the size of the noise.
std::vector<double> left_out_errors(const NonNegativeLeastSquares& fit, const Solution& solution) {
  constexpr double kLeast = 0.1;  // a sample that fits itself says nothing about its error
  std::vector<double> errors = fit.leverages(solution.coefficients);
  const double widening = student_widening(solution.degrees);
  for (std::size_t i = 0; i < errors.size(); ++i)
    errors[i] = widening * solution.residuals[i] / std::max(kLeast, 1 - errors[i]);
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  for (double& error : errors) error -= mean;
  return errors;
}

/// Refits of the fitted times plus resampled errors.
std::vector<Theta> bootstrap(const Problem& problem, const Solution& solution,
                             const PrefillFitOptions& options) {
  const std::size_t rows = problem.seconds.size();
  const NonNegativeLeastSquares fit(relative_to(problem.design, solution.fitted));
  const std::vector<double> errors = left_out_errors(fit, solution);
  Random random = Random(options.seed).split("prefill bootstrap");
  std::vector<Theta> draws;
  draws.reserve(static_cast<std::size_t>(options.draws));
  std::vector<double> target(rows);
  for (int d = 0; d < options.draws; ++d) {
    for (double& b : target) b = 1 + errors[random.below(rows)];
    draws.push_back(to_theta(problem.kept, fit.solve(target)));
  }
  return draws;
}

Verdict judge(const PrefillCost& cost, std::span<const PrefillSample> samples) {
  if (cost.residual > kNoisy) return Verdict::noisy;
  for (const PrefillSample& s : samples) {
    const Interval<Seconds> law = cost.expected(s.fresh, s.cached);
    if ((law.high - law.low).value() / 2 > kNoisy * cost.time(s.fresh, s.cached).value())
      return Verdict::noisy;
  }
  return Verdict::good;
}

}  // namespace

Result<PrefillCost> fit_prefill(std::span<const PrefillSample> samples, const PrefillFitOptions& options) {
  if (const Result<void> valid = validate(samples, options); valid.has_error()) return valid.error();
  PrefillCost cost;
  cost.law.chunk_tokens = options.chunk_tokens;
  cost.law.knee_tokens = options.knee_tokens;
  cost.law.tile_tokens = options.tile_tokens;
  const Problem problem = make_problem(samples, cost.law);
  const Solution solution = solve(problem);
  cost.law.theta = to_theta(problem.kept, solution.coefficients);
  cost.residual = solution.deviation * student_widening(solution.degrees);
  cost.draws = bootstrap(problem, solution, options);
  for (const PrefillSample& s : samples) cost.domain = std::max(cost.domain, s.fresh + s.cached);
  cost.verdict = judge(cost, samples);
  return cost;
}

}  // namespace fulcrum
