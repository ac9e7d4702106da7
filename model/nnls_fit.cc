#include "model/nnls_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fulcrum {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const RowMajor> view(const DesignMatrix& m) {
  return {m.values.data(), static_cast<Eigen::Index>(m.rows()), static_cast<Eigen::Index>(m.columns)};
}

/// Unconstrained solution over the columns in `active`; zero elsewhere.
Eigen::VectorXd solve_active(const Eigen::MatrixXd& gram, const Eigen::VectorXd& right,
                             const std::vector<Eigen::Index>& active) {
  const auto n = static_cast<Eigen::Index>(active.size());
  Eigen::MatrixXd sub(n, n);
  Eigen::VectorXd rhs(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    rhs(i) = right(active[static_cast<std::size_t>(i)]);
    for (Eigen::Index j = 0; j < n; ++j) {
      sub(i, j) = gram(active[static_cast<std::size_t>(i)], active[static_cast<std::size_t>(j)]);
    }
  }
  const Eigen::VectorXd part = sub.ldlt().solve(rhs);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(right.size());
  for (Eigen::Index i = 0; i < n; ++i) x(active[static_cast<std::size_t>(i)]) = part(i);
  return x;
}

/// Moves from the feasible `x` towards `goal` until a coefficient reaches zero; drops that column.
void step_to_bound(Eigen::VectorXd& x, const Eigen::VectorXd& goal, std::vector<Eigen::Index>& active) {
  double share = 1;
  Eigen::Index blocking = active.front();
  for (const Eigen::Index i : active) {
    if (goal(i) > 0) continue;
    const double reach = x(i) / (x(i) - goal(i));
    if (reach <= share) {
      share = reach;
      blocking = i;
    }
  }
  x += share * (goal - x);
  x(blocking) = 0;
  std::erase_if(active, [&](Eigen::Index i) { return i == blocking || x(i) <= 0; });
}

}  // namespace

NonNegativeLeastSquares::NonNegativeLeastSquares(const DesignMatrix& matrix) : scaled_(matrix) {
  const auto a = view(matrix);
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    const double length = a.col(j).norm();
    FULCRUM_CHECK(std::isfinite(length) && length > 0, "a column of zeros has no coefficient");
    lengths_.push_back(length);
  }
  for (std::size_t i = 0; i < scaled_.values.size(); ++i) scaled_.values[i] /= lengths_[i % matrix.columns];
  const Eigen::MatrixXd gram = view(scaled_).transpose() * view(scaled_);
  gram_.assign(gram.data(), gram.data() + gram.size());
}

std::vector<double> NonNegativeLeastSquares::solve(std::span<const double> b) const {
  FULCRUM_CHECK(b.size() == scaled_.rows(), "one right-hand value a row");
  const auto n = static_cast<Eigen::Index>(scaled_.columns);
  const Eigen::Map<const Eigen::MatrixXd> gram(gram_.data(), n, n);
  const Eigen::Map<const Eigen::VectorXd> target(b.data(), static_cast<Eigen::Index>(b.size()));
  const Eigen::VectorXd right = view(scaled_).transpose() * target;

  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  std::vector<Eigen::Index> active;
  const double tolerance = 1e-12 * (1 + right.cwiseAbs().maxCoeff());
  for (int round = 0; round < 50 * n; ++round) {
    const Eigen::VectorXd slope = right - gram * x;
    Eigen::Index best = -1;
    for (Eigen::Index i = 0; i < n; ++i) {
      const bool idle = std::find(active.begin(), active.end(), i) == active.end();
      if (idle && slope(i) > tolerance && (best < 0 || slope(i) > slope(best))) best = i;
    }
    if (best < 0) break;
    active.push_back(best);
    Eigen::VectorXd goal = solve_active(gram, right, active);
    while (!active.empty() && (goal.array() < 0).any()) {
      step_to_bound(x, goal, active);
      goal = active.empty() ? Eigen::VectorXd::Zero(n).eval() : solve_active(gram, right, active);
    }
    x = goal;
  }
  std::vector<double> result(scaled_.columns);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = x(static_cast<Eigen::Index>(i)) / lengths_[i];
  return result;
}

std::vector<double> NonNegativeLeastSquares::leverages(std::span<const double> x) const {
  const auto a = view(scaled_);
  std::vector<Eigen::Index> used;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] > 0) used.push_back(static_cast<Eigen::Index>(j));
  }
  std::vector<double> found(scaled_.rows(), 0.0);
  if (used.empty()) return found;
  Eigen::MatrixXd part(a.rows(), static_cast<Eigen::Index>(used.size()));
  for (std::size_t j = 0; j < used.size(); ++j) part.col(static_cast<Eigen::Index>(j)) = a.col(used[j]);
  const Eigen::MatrixXd gram = part.transpose() * part;
  const Eigen::MatrixXd pull = gram.ldlt().solve(part.transpose());
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    found[static_cast<std::size_t>(i)] = std::clamp(part.row(i).dot(pull.col(i)), 0.0, 1.0);
  return found;
}

std::vector<std::size_t> independent_columns(const DesignMatrix& matrix,
                                             std::span<const std::size_t> candidates, std::size_t most,
                                             double limit) {
  const auto a = view(matrix);
  std::vector<std::size_t> kept;
  for (const std::size_t candidate : candidates) {
    if (kept.size() >= most) break;
    Eigen::VectorXd column = a.col(static_cast<Eigen::Index>(candidate));
    const double length = column.norm();
    if (!(length > 0)) continue;
    column /= length;
    if (!kept.empty()) {
      Eigen::MatrixXd others(a.rows(), static_cast<Eigen::Index>(kept.size()));
      for (std::size_t j = 0; j < kept.size(); ++j) {
        others.col(static_cast<Eigen::Index>(j)) = a.col(static_cast<Eigen::Index>(kept[j])).normalized();
      }
      const Eigen::VectorXd rest = column - others * others.householderQr().solve(column);
      if (rest.squaredNorm() * limit < 1) continue;
    }
    kept.push_back(candidate);
  }
  return kept;
}

}  // namespace fulcrum
