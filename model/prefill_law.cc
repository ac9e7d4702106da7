#include <algorithm>

#include "base/check.h"
#include "fulcrum/cost.h"

namespace fulcrum {
namespace {

std::int64_t padded(std::int64_t tokens, std::int64_t tile) {
  return tile > 1 ? (tokens + tile - 1) / tile * tile : tokens;
}

}  // namespace

std::array<double, PrefillLaw::kTerms> PrefillLaw::regressors(Tokens fresh, Tokens cached) const {
  FULCRUM_CHECK(fresh.value() >= 0 && cached.value() >= 0, "token counts are not negative");
  if (fresh.value() == 0) return {};
  const std::int64_t n = fresh.value();
  const std::int64_t chunk = chunk_tokens > 0 ? std::min(chunk_tokens, n) : n;
  const std::int64_t calls = (n + chunk - 1) / chunk;
  const std::int64_t whole = padded(chunk, tile_tokens);
  const std::int64_t last = padded(n - (calls - 1) * chunk, tile_tokens);

  const auto m = static_cast<double>(calls);
  const auto p = static_cast<double>(cached.value());
  const auto length = static_cast<double>(n);
  const auto rows = static_cast<double>(whole) * (m - 1) + static_cast<double>(last);
  // The chunks tile [p, p+n), so their attention triangles add up to one and their starts to a series.
  const double pairs = length * (p + length / 2);
  const double starts = m * p + static_cast<double>(chunk) * m * (m - 1) / 2;
  const double below_knee = static_cast<double>(std::max<std::int64_t>(0, knee_tokens - whole)) * (m - 1) +
                            static_cast<double>(std::max<std::int64_t>(0, knee_tokens - last));
  return {1, m, rows, pairs, starts, below_knee};
}

Seconds PrefillLaw::time(Tokens fresh, Tokens cached) const {
  const auto x = regressors(fresh, cached);
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += theta[i] * x[i];
  return Seconds(sum);
}

double PrefillLaw::alpha() const {
  if (chunk_tokens <= 0) return std::max(0.0, theta[2] - theta[4]);
  const std::int64_t rows = padded(chunk_tokens, tile_tokens);
  const auto hinge = static_cast<double>(std::max<std::int64_t>(0, knee_tokens - rows));
  const double call = theta[1] + theta[2] * static_cast<double>(rows) + theta[5] * hinge;
  return std::max(0.0, call / static_cast<double>(chunk_tokens) - theta[4] / 2);
}

double PrefillLaw::beta() const {
  return chunk_tokens > 0 ? theta[3] + theta[4] / static_cast<double>(chunk_tokens) : theta[3];
}

}  // namespace fulcrum
