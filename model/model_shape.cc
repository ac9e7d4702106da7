#include "fulcrum/model_shape.h"

#include <algorithm>

#include "base/check.h"

namespace fulcrum {
namespace {

/// Query-key pairs of `fresh` rows behind `cached` ones, each row seeing at most `window` (0: all) tokens,
/// itself included.
double causal_pairs(std::int64_t fresh, std::int64_t cached, std::int64_t window) {
  const auto triangle = [](double first, double count) { return count * first + count * (count - 1) / 2; };
  const auto n = static_cast<double>(fresh);
  const auto p = static_cast<double>(cached);
  if (window <= 0) return triangle(p + 1, n);
  const auto w = static_cast<double>(window);
  const double growing = std::clamp(w - p, 0.0, n);  // rows that do not fill the window
  return triangle(p + 1, growing) + (n - growing) * w;
}

}  // namespace

BytesPerToken ModelShape::kv_bytes_per_token() const {
  const std::int64_t elements = latent_dim > 0 ? latent_dim : kv_heads * (head_dim + value_dim);
  const std::int64_t layer = elements * kv_element_bytes + extra_kv_bytes;
  return BytesPerToken(static_cast<double>(full_attention_layers * layer));
}

Bytes ModelShape::kv_bytes_fixed() const {
  const std::int64_t layer = kv_heads * (head_dim + value_dim) * kv_element_bytes;
  return Bytes(window_layers * window_tokens * layer + linear_state_bytes);
}

Bytes ModelShape::kv_bytes(Tokens prefix) const {
  FULCRUM_CHECK(prefix.value() >= 0, "a prefix is not negative");
  if (prefix.value() == 0) return Bytes(0);
  const std::int64_t layer = kv_heads * (head_dim + value_dim) * kv_element_bytes;
  const Bytes windows(window_layers * std::min(prefix.value(), window_tokens) * layer);
  return prefix * kv_bytes_per_token() + windows + Bytes(linear_state_bytes);
}

double ModelShape::linear_flops(Tokens fresh) const {
  FULCRUM_CHECK(fresh.value() >= 0, "token counts are not negative");
  if (fresh.value() == 0) return 0;
  const auto head = static_cast<double>(hidden * vocab);
  const double body = static_cast<double>(active_params) - head;
  return 2 * (body * static_cast<double>(fresh.value()) + head);
}

double ModelShape::attention_flops(Tokens fresh, Tokens cached) const {
  FULCRUM_CHECK(fresh.value() >= 0 && cached.value() >= 0, "token counts are not negative");
  const std::int64_t n = fresh.value();
  const std::int64_t p = cached.value();
  const auto pair = static_cast<double>(2 * heads * (head_dim + value_dim));
  const double full = pair * causal_pairs(n, p, sparse_tokens) +
                      static_cast<double>(indexer_flops_per_pair) * causal_pairs(n, p, 0);
  const double windowed = pair * causal_pairs(n, p, window_tokens);
  return static_cast<double>(full_attention_layers) * full + static_cast<double>(window_layers) * windowed;
}

Bytes ModelShape::weight_bytes() const {
  return Bytes(static_cast<std::int64_t>(static_cast<double>(total_params) * weight_element_bytes));
}

}  // namespace fulcrum
