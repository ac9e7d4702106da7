#include <algorithm>

#include "model/model_config.h"

namespace fulcrum {
namespace {

void read_latent(Config& config, ModelShape& shape) {
  const std::int64_t rope = config.count("qk_rope_head_dim");
  shape.head_dim = config.count("qk_nope_head_dim") + rope;
  shape.value_dim = config.count("v_head_dim");
  shape.latent_dim = config.count("kv_lora_rank") + rope;
  if (!config.has("index_topk")) return;
  // Sparse attention: an indexer of its own keys (fp8, one 4-byte scale for each 128 of them) chooses.
  const std::int64_t index_dim = config.count("index_head_dim");
  shape.sparse_tokens = config.count("index_topk");
  shape.extra_kv_bytes = index_dim + (index_dim + 127) / 128 * 4;
  shape.indexer_flops_per_pair = 2 * config.count("index_n_heads") * index_dim;
}

/// Counts layers by their entry in layer_types.
void count_layer_types(Config& config, ModelShape& shape) {
  MapReader& reader = config.in("layer_types");
  const std::vector<std::string> types = reader.texts("layer_types");
  for (const std::string& type : types) {
    if (type == "full_attention") {
      ++shape.full_attention_layers;
    } else if (type == "sliding_attention") {
      ++shape.window_layers;
    } else if (type == "linear_attention") {
      ++shape.linear_layers;
    } else {
      reader.problem("layer_types", "has a layer of unknown kind '" + type + "'");
      return;
    }
  }
  if (static_cast<std::int64_t>(types.size()) != shape.layers) {
    reader.problem("layer_types", "names " + std::to_string(types.size()) +
                                      " layers, but 'num_hidden_layers' is " + std::to_string(shape.layers));
  }
}

/// Layers in a fixed rhythm: every pattern-th is full, the others are windowed or linear.
void count_by_pattern(Config& config, const ModelFamily& family, ModelShape& shape) {
  const bool linear = config.has("linear_num_value_heads");
  const std::string_view key = linear ? "full_attention_interval" : "sliding_window_pattern";
  const std::int64_t pattern = std::max<std::int64_t>(1, config.count_or(key, family.window_pattern));
  shape.full_attention_layers = shape.layers / pattern;
  (linear ? shape.linear_layers : shape.window_layers) = shape.layers - shape.full_attention_layers;
}

/// Qwen2 and Mistral: one window for all layers from some depth on, if it is switched on at all.
void count_by_switch(Config& config, ModelShape& shape) {
  const bool on = config.flag_or("use_sliding_window", config.has("sliding_window"));
  const bool windowed = on && config.count_or("sliding_window", 0) > 0;
  const std::int64_t full =
      windowed ? std::min(shape.layers, config.count_or("max_window_layers", 0)) : shape.layers;
  shape.full_attention_layers = full;
  shape.window_layers = shape.layers - full;
}

}  // namespace

void read_attention(Config& config, const ModelFamily& family, ModelShape& shape) {
  shape.layers = config.count("num_hidden_layers");
  shape.hidden = config.count("hidden_size");
  shape.heads = config.count("num_attention_heads");
  shape.vocab = family.vocab > 0 ? config.count_or("vocab_size", family.vocab) : config.count("vocab_size");
  shape.max_positions = config.count_or("max_position_embeddings", 0);
  if (family.latent) {
    shape.kv_heads = 1;
    read_latent(config, shape);
    return;
  }
  shape.kv_heads = config.count_or("num_key_value_heads", shape.heads);
  const std::int64_t even = shape.heads > 0 ? shape.hidden / shape.heads : 0;
  shape.head_dim = config.count_or("head_dim", family.head_dim > 0 ? family.head_dim : even);
  shape.value_dim = shape.head_dim;
  if (!config.has("head_dim") && family.head_dim == 0 && even * shape.heads != shape.hidden) {
    config.in("head_dim")
        .problem("head_dim", "is missing, and 'hidden_size' is no multiple of 'num_attention_heads'");
  }
  if (shape.kv_heads < 1 || shape.heads % shape.kv_heads != 0) {
    config.in("num_key_value_heads").problem("num_key_value_heads", "does not divide 'num_attention_heads'");
  }
}

void read_layers(Config& config, const ModelFamily& family, ModelShape& shape) {
  if (config.has("layer_types")) {
    count_layer_types(config, shape);
  } else if (family.window_pattern > 0) {
    count_by_pattern(config, family, shape);
  } else {
    count_by_switch(config, shape);
  }
  if (shape.window_layers > 0) shape.window_tokens = config.count("sliding_window");
  if (shape.linear_layers > 0) {
    // One matrix d_k x d_v a value head, in fp32 as the engines hold it; the short convolution is left out.
    const std::int64_t state = config.count("linear_num_value_heads") * config.count("linear_key_head_dim") *
                               config.count("linear_value_head_dim");
    shape.linear_state_bytes = shape.linear_layers * state * 4;
  }
}

}  // namespace fulcrum
