#include <algorithm>
#include <string>

#include "model/model_config.h"

namespace fulcrum {
namespace {

std::int64_t attention_weights(Config& config, const ModelFamily& family, const ModelShape& s) {
  if (!family.latent) {
    const std::int64_t gate = config.flag_or("attn_output_gate", config.model_type() == "qwen3_next") ? 2 : 1;
    const std::int64_t into = s.hidden * (gate * s.heads + 2 * s.kv_heads) * s.head_dim;
    return into + s.heads * s.value_dim * s.hidden;
  }
  const std::int64_t query = s.heads * s.head_dim;
  const std::int64_t query_rank = config.count_or("q_lora_rank", 0);
  const std::int64_t latent = config.count("kv_lora_rank");
  const std::int64_t nope = config.count("qk_nope_head_dim");
  const std::int64_t into_query = query_rank > 0 ? (s.hidden + query) * query_rank : s.hidden * query;
  return into_query + s.hidden * s.latent_dim + latent * s.heads * (nope + s.value_dim) +
         s.heads * s.value_dim * s.hidden;
}

/// Gated delta net: query, key, value and gate; two scalars a value head; the way out.
std::int64_t linear_weights(Config& config, const ModelShape& s) {
  if (s.linear_layers == 0) return 0;
  const std::int64_t value_heads = config.count("linear_num_value_heads");
  const std::int64_t values = value_heads * config.count("linear_value_head_dim");
  const std::int64_t keys = config.count("linear_num_key_heads") * config.count("linear_key_head_dim");
  return s.hidden * (2 * keys + 3 * values + 2 * value_heads);
}

std::int64_t layers_without_experts(Config& config, const ModelShape& s) {
  const std::int64_t dense_front = std::min(s.layers, config.count_or("first_k_dense_replace", 0));
  const std::int64_t step = std::max<std::int64_t>(1, config.count_or("decoder_sparse_step", 1));
  if (step > 1) return s.layers - s.layers / step;
  if (!config.has("mlp_only_layers")) return dense_front;
  const auto listed =
      static_cast<std::int64_t>(config.in("mlp_only_layers").numbers("mlp_only_layers").size());
  return std::max(dense_front, std::min(listed, s.layers));
}

/// Feed-forward weights of all layers.
WeightCount feed_forward(Config& config, ModelShape& s) {
  const bool local = config.has("num_local_experts");
  const std::string_view key = config.has("n_routed_experts") ? "n_routed_experts"
                               : local                        ? "num_local_experts"
                                                              : "num_experts";
  s.experts = config.count_or(key, 0);
  if (s.experts == 0) {
    const std::int64_t dense = s.layers * 3 * s.hidden * config.count("intermediate_size");
    return {dense, dense, 0};
  }
  s.experts_per_token = config.count_either("num_experts_per_tok", "experts_per_token");
  if (s.experts_per_token > s.experts)
    config.in(key).problem(key, "is below the number of experts a token uses");
  const std::int64_t width =
      config.count(config.has("moe_intermediate_size") ? "moe_intermediate_size" : "intermediate_size");
  const std::int64_t expert = 3 * s.hidden * width;
  const std::int64_t shared = config.count_or("n_shared_experts", 0) * expert +
                              3 * s.hidden * config.count_or("shared_expert_intermediate_size", 0);
  const std::int64_t dense_layers = layers_without_experts(config, s);
  const std::int64_t sparse_layers = s.layers - dense_layers;
  const std::int64_t router = s.hidden * s.experts;
  const std::int64_t dense =
      dense_layers == 0 ? 0 : dense_layers * 3 * s.hidden * config.count("intermediate_size");
  const std::int64_t always = dense + sparse_layers * (shared + router);
  return {always + sparse_layers * s.experts_per_token * expert, always + sparse_layers * s.experts * expert,
          sparse_layers * s.experts * expert};
}

double bits_to_bytes(std::int64_t bits) {
  return static_cast<double>(bits) / 8;
}

/// Bytes of a quantised weight; 0 where the method is not known.
double quantised_bytes(MapReader quantization) {
  constexpr double kMicroscaled = (4 + 8.0 / 32) / 8;  // 4 bits, and one scale byte for each 32
  constexpr double kNvfp4 = (4 + 8.0 / 16) / 8;        // 4 bits, and one scale byte for each 16
  const std::string method = quantization.text_or("quant_method", "");
  const std::string algorithm = quantization.text_or("quant_algo", "");
  if (method == "mxfp4") return kMicroscaled;
  if (algorithm == "NVFP4") return kNvfp4;
  if (method == "fp8" || method == "fbgemm_fp8" || algorithm == "FP8") return 1;
  if (quantization.has("load_in_4bit") && quantization.boolean_or("load_in_4bit", false))
    return bits_to_bytes(4);
  if (quantization.has("load_in_8bit") && quantization.boolean_or("load_in_8bit", false))
    return bits_to_bytes(8);
  if (quantization.has("bits")) return bits_to_bytes(quantization.integer("bits", {2, 16}));
  if (!quantization.has("config_groups")) return 0;
  for (const auto& [name, group] : quantization.node().find("config_groups")->fields) {
    const Node* weights = group.find("weights");
    const Node* bits = weights == nullptr ? nullptr : weights->find("num_bits");
    if (bits != nullptr && (bits->scalar == "4" || bits->scalar == "8")) return bits->scalar == "4" ? 0.5 : 1;
  }
  return 0;
}

}  // namespace

WeightCount count_weights(Config& config, const ModelFamily& family, ModelShape& shape) {
  WeightCount count = feed_forward(config, shape);
  const std::int64_t mixing =
      (shape.layers - shape.linear_layers) * attention_weights(config, family, shape) +
      shape.linear_layers * linear_weights(config, shape);
  const std::int64_t head = shape.vocab * shape.hidden;
  count.active += mixing + head;
  count.total += mixing + (config.flag_or("tie_word_embeddings", family.tied) ? head : 2 * head);
  return count;
}

double weight_element_bytes(Config& config, const WeightCount& count) {
  const std::string_view key = config.has("torch_dtype") ? "torch_dtype" : "dtype";
  const std::string dtype = config.has(key) ? config.in(key).text(key) : "bfloat16";
  const double plain = dtype == "float32" ? 4 : 2;
  if (!config.has("quantization_config")) return plain;
  MapReader& holder = config.in("quantization_config");
  const double quantised = quantised_bytes(holder.map("quantization_config"));
  if (quantised == 0) {
    holder.problem("quantization_config", "has a method whose bytes a weight are not known");
    return plain;
  }
  // Micro-scaled checkpoints keep all but the experts in full width.
  const bool experts_only = quantised < 0.6 && count.routed > 0;
  if (!experts_only || count.total == 0) return quantised;
  const double share = static_cast<double>(count.routed) / static_cast<double>(count.total);
  return share * quantised + (1 - share) * plain;
}

}  // namespace fulcrum
