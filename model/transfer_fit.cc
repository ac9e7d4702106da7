#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "base/errors.h"
#include "fulcrum/cost.h"
#include "model/nnls_fit.h"

namespace fulcrum {
namespace {

/// Names the first sample whose rate is no rate; empty if all are.
template <class Sample>
std::string broken_rate(std::span<const Sample> samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double rate = samples[i].rate.value();
    if (!std::isfinite(rate) || rate <= 0) {
      return "sample " + std::to_string(i + 1) + ": the rate must be a positive number of bytes a second";
    }
  }
  return {};
}

/// Fits 1 = A x in the least squares sense: rows come divided by what was measured, so errors are relative.
/// Columns that the samples cannot tell apart get 0.
std::vector<double> fit_to_one(const DesignMatrix& relative, std::span<const std::size_t> preference) {
  const auto kept = independent_columns(relative, preference, relative.columns, 1e6);
  DesignMatrix design{kept.size(), {}};
  for (std::size_t i = 0; i < relative.rows(); ++i) {
    for (const std::size_t j : kept) design.values.push_back(relative.at(i, j));
  }
  const std::vector<double> ones(relative.rows(), 1.0);
  const auto solved = NonNegativeLeastSquares(design).solve(ones);
  std::vector<double> x(relative.columns, 0.0);
  for (std::size_t j = 0; j < kept.size(); ++j) x[kept[j]] = solved[j];
  return x;
}

}  // namespace

Result<ContentionLaw> fit_contention(std::span<const ThroughputSample> samples) {
  if (const std::string broken = broken_rate(samples); !broken.empty()) {
    return bad_input("throughput samples", broken);
  }
  std::set<int> levels;
  DesignMatrix rows{3, {}};
  for (const ThroughputSample& s : samples) {
    if (s.loads < 1) return bad_input("throughput samples", "a level has fewer than one load");
    levels.insert(s.loads);
    const double n = s.loads;
    const double per_load = s.rate.value() / n;  // N/X(N) = 1/X1 + (sigma/X1)(N-1) + (k/X1)N(N-1)
    rows.values.insert(rows.values.end(), {per_load, per_load * (n - 1), per_load * n * (n - 1)});
  }
  if (levels.size() < 3) {
    return bad_input("throughput samples", "fewer than 3 different numbers of loads",
                     "measure at 1, 2, 4, 8 ... until the throughput falls");
  }
  constexpr std::size_t kPreference[] = {0, 1, 2};
  const auto x = fit_to_one(rows, kPreference);
  if (!(x[0] > 0)) {
    return bad_input("throughput samples",
                     "they do not fit the contention law: one load alone has no finite rate",
                     "add samples of a single load");
  }
  return ContentionLaw{BytesPerSecond(1 / x[0]), std::min(1.0, x[1] / x[0]), x[2] / x[0]};
}

Result<CommitLaw> fit_commit(std::span<const CommitSample> samples) {
  if (const std::string broken = broken_rate(samples); !broken.empty())
    return bad_input("commit samples", broken);
  std::set<std::int64_t> sizes;
  DesignMatrix rows{2, {}};
  for (const CommitSample& s : samples) {
    if (s.size.value() <= 0) return bad_input("commit samples", "an access has no size");
    sizes.insert(s.size.value());
    const double rate = s.rate.value();  // 1/B = 1/sequential + (half/sequential)/g
    rows.values.insert(rows.values.end(), {rate, rate / static_cast<double>(s.size.value())});
  }
  if (sizes.size() < 2) {
    return bad_input("commit samples", "fewer than 2 different access sizes",
                     "measure a small and a large one");
  }
  constexpr std::size_t kPreference[] = {0, 1};
  const auto x = fit_to_one(rows, kPreference);
  if (!(x[0] > 0)) {
    return bad_input("commit samples",
                     "the rate grows in proportion to the size: nothing shows where it levels off",
                     "measure larger accesses");
  }
  return CommitLaw{BytesPerSecond(1 / x[0]), Bytes(std::llround(x[1] / x[0]))};
}

}  // namespace fulcrum
