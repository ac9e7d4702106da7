// The parts of reading a Hugging Face config.json; ModelShape::from_config puts them together.
//
// Every part reads its fields through a Config and records missing or impossible ones there, so that one
// run names them all. Formulas count what a model multiplies: no norms, biases, multi-token heads, vision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/document.h"
#include "fulcrum/model_shape.h"

namespace fulcrum {

/// How a family lays out its layers and names its fields.
struct ModelFamily {
  std::string_view model_type;      ///< in config.json
  bool latent = false;              ///< MLA
  bool tied = false;                ///< output head shares the embedding unless the file says otherwise
  std::int64_t window_pattern = 0;  ///< one full layer in this many, where the file has no layer_types
  std::int64_t head_dim = 0;        ///< default of the family; 0: hidden size / heads
  std::int64_t vocab = 0;           ///< default of the family; 0: the file must say
};

/// The text model's fields, with those of the file's root behind them.
class Config {
 public:
  Config(const Node& root, Problems& problems);

  [[nodiscard]] std::string model_type() const { return model_type_; }
  [[nodiscard]] bool has(std::string_view key) const { return text_.has(key) || root_.has(key); }
  /// Reader of the map that holds the key: the text model's, else the root's.
  MapReader& in(std::string_view key) { return text_.has(key) || !root_.has(key) ? text_ : root_; }
  /// A required count of at least 1.
  std::int64_t count(std::string_view key);
  /// A count of at least 0; `fallback` where the key is missing or null.
  std::int64_t count_or(std::string_view key, std::int64_t fallback);
  /// The first of two names that exists; both named where neither does.
  std::int64_t count_either(std::string_view key, std::string_view other);
  bool flag_or(std::string_view key, bool fallback);

 private:
  MapReader root_;
  MapReader text_;
  std::string model_type_;
};

/// Weights in one layer and model-wide. `active` are multiplied for each token.
struct WeightCount {
  std::int64_t active = 0;
  std::int64_t total = 0;
  std::int64_t routed = 0;  ///< part of `total` in routed experts
};

/// The family for a model type, or nothing.
[[nodiscard]] const ModelFamily* find_family(std::string_view model_type);
/// All model types that are known, comma-separated.
[[nodiscard]] std::string known_model_types();

/// Heads, widths, latents and which layers are full, windowed or linear (model_config_layers.cc).
void read_attention(Config& config, const ModelFamily& family, ModelShape& shape);
void read_layers(Config& config, const ModelFamily& family, ModelShape& shape);
/// Weights of attention, feed-forward, experts, embedding and head (model_config_weights.cc).
WeightCount count_weights(Config& config, const ModelFamily& family, ModelShape& shape);
/// Bytes a weight takes as stored, from quantization_config or torch_dtype.
double weight_element_bytes(Config& config, const WeightCount& count);

}  // namespace fulcrum
