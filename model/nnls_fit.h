// Non-negative least squares for a handful of columns.
//
// Works on the normal equations: for at most ten well-scaled, not collinear columns they are exact enough,
// and refitting resampled data then costs a few hundred flops.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fulcrum {

/// A dense matrix of `columns` columns, row after row.
struct DesignMatrix {
  std::size_t columns = 0;
  std::vector<double> values;

  [[nodiscard]] std::size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
  [[nodiscard]] double at(std::size_t row, std::size_t column) const {
    return values[row * columns + column];
  }
};

/// Least squares |A x - b| over x >= 0 (active set in the manner of Lawson and Hanson). The Gram matrix of
/// A is made once; each solve takes another b.
class NonNegativeLeastSquares {
 public:
  explicit NonNegativeLeastSquares(const DesignMatrix& matrix);
  /// x for this right side, one entry a column. b has one entry a row.
  [[nodiscard]] std::vector<double> solve(std::span<const double> b) const;
  /// How far each row pulls the fit towards itself, 0..1: the diagonal of the hat matrix of the columns that
  /// `x` uses (those above 0).
  [[nodiscard]] std::vector<double> leverages(std::span<const double> x) const;

 private:
  DesignMatrix scaled_;          ///< columns of length 1
  std::vector<double> lengths_;  ///< what they were
  std::vector<double> gram_;
};

/// Columns, out of `candidates` in order of preference, that the rows can tell apart: a column joins while
/// the variance inflation 1/(1 - R^2) against those already in stays at or below `limit`, and while fewer
/// than `most` are in. Zero columns never join.
[[nodiscard]] std::vector<std::size_t> independent_columns(const DesignMatrix& matrix,
                                                           std::span<const std::size_t> candidates,
                                                           std::size_t most, double limit = 30);

}  // namespace fulcrum
