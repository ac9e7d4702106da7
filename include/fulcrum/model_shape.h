// ModelShape: what a model's configuration says about bytes and arithmetic.
//
// Read from a Hugging Face config.json; covers dense GQA, MoE, MLA, sliding-window and linear-attention
// hybrids. All counts are per model replica. FLOP: a multiply and an add count as 2.
#pragma once

#include <cstdint>
#include <string>

#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

struct ModelShape {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t full_attention_layers = 0;  ///< layers whose KV grows with the context
  std::int64_t window_layers = 0;          ///< sliding-window layers
  std::int64_t window_tokens = 0;
  std::int64_t linear_layers = 0;       ///< linear-attention layers (a state of fixed size)
  std::int64_t linear_state_bytes = 0;  ///< all linear layers together
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;                ///< of the query/key product (d_qk)
  std::int64_t value_dim = 0;               ///< of the value product (d_v)
  std::int64_t latent_dim = 0;              ///< MLA: kv_lora_rank + rope dims; 0 otherwise
  std::int64_t extra_kv_bytes = 0;          ///< per token and layer beside K and V (e.g. indexer keys)
  std::int64_t sparse_tokens = 0;           ///< tokens that a query attends to at most; 0: all of them
  std::int64_t indexer_flops_per_pair = 0;  ///< per layer, to choose those tokens
  std::int64_t vocab = 0;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t active_params = 0;  ///< multiplied per token; the output head once, no embedding
  std::int64_t total_params = 0;
  int kv_element_bytes = 2;
  double weight_element_bytes = 2.0;
  std::int64_t max_positions = 0;

  /// KV bytes that each further token adds once every window is full (kappa).
  [[nodiscard]] BytesPerToken kv_bytes_per_token() const;
  /// KV bytes that do not grow: full windows and linear states.
  [[nodiscard]] Bytes kv_bytes_fixed() const;
  /// KV bytes to hold a prefix of `prefix` tokens: kappa*P + windows up to min(P, W) + linear states.
  [[nodiscard]] Bytes kv_bytes(Tokens prefix) const;
  /// FLOPs of the matrix products for `fresh` tokens (without attention), output head once per request.
  /// The recurrence of linear layers, some 2 % of their products, is left out.
  [[nodiscard]] double linear_flops(Tokens fresh) const;
  /// FLOPs of causal attention for `fresh` tokens behind `cached` ones: 2*heads*(d_qk + d_v) for each pair
  /// that a layer looks at. MLA counts in its expanded form.
  [[nodiscard]] double attention_flops(Tokens fresh, Tokens cached) const;
  /// Bytes of all weights.
  [[nodiscard]] Bytes weight_bytes() const;

  /// From the text of a config.json. An unknown architecture or a missing field is ErrorKind::bad_input
  /// naming the field and `where`.
  static Result<ModelShape> from_config(const std::string& json, const std::string& where);
  /// From a file; the name becomes the file's, or its folder's where the file is called config.json.
  /// Kinds: as above, not_found, permission.
  static Result<ModelShape> from_file(const std::string& path);
};

}  // namespace fulcrum
