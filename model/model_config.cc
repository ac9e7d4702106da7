#include "model/model_config.h"

#include <array>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

// Families whose attention and feed-forward (gated, three matrices) are as counted here.
constexpr std::array kFamilies = {
    ModelFamily{.model_type = "llama"},
    ModelFamily{.model_type = "mistral"},
    ModelFamily{.model_type = "mixtral"},
    ModelFamily{.model_type = "qwen2"},
    ModelFamily{.model_type = "qwen2_moe"},
    ModelFamily{.model_type = "qwen3"},
    ModelFamily{.model_type = "qwen3_moe"},
    ModelFamily{.model_type = "qwen3_next", .window_pattern = 4},
    ModelFamily{.model_type = "qwen3_5_text", .window_pattern = 4},
    ModelFamily{.model_type = "qwen3_5_moe_text", .window_pattern = 4},
    ModelFamily{.model_type = "phi3"},
    ModelFamily{.model_type = "olmo2"},
    ModelFamily{.model_type = "granite", .tied = true},
    ModelFamily{.model_type = "glm4"},
    ModelFamily{.model_type = "gpt_oss", .window_pattern = 2},
    ModelFamily{.model_type = "gemma2", .tied = true, .window_pattern = 2, .head_dim = 256, .vocab = 256000},
    ModelFamily{
        .model_type = "gemma3_text", .tied = true, .window_pattern = 6, .head_dim = 256, .vocab = 262208},
    ModelFamily{.model_type = "deepseek_v2", .latent = true},
    ModelFamily{.model_type = "deepseek_v3", .latent = true},
    ModelFamily{.model_type = "deepseek_v32", .latent = true},
    ModelFamily{.model_type = "kimi_k2", .latent = true},
};

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // keeps products of sizes far from overflow

const Node& text_node(const Node& root) {
  const Node* text = root.find("text_config");
  return text != nullptr && text->kind == NodeKind::map ? *text : root;
}

// A config.json does not say what the model is called; the folder that it came in does, or the file.
std::string name_from(const std::string& path) {
  const std::filesystem::path file = std::filesystem::absolute(path);
  return file.stem() == "config" ? file.parent_path().filename().string() : file.stem().string();
}

}  // namespace

const ModelFamily* find_family(std::string_view model_type) {
  for (const ModelFamily& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::string known_model_types() {
  std::string names;
  for (const ModelFamily& family : kFamilies) {
    if (!names.empty()) names += ", ";
    names += family.model_type;
  }
  return names;
}

Config::Config(const Node& root, Problems& problems)
    : root_(root, problems),
      text_(text_node(root), problems, &text_node(root) != &root ? "text_config" : "") {
  model_type_ = in("model_type").text("model_type");
}

std::int64_t Config::count(std::string_view key) {
  return in(key).integer(key, {1, kMost});
}

std::int64_t Config::count_or(std::string_view key, std::int64_t fallback) {
  return in(key).integer_or(key, fallback, {0, kMost});
}

std::int64_t Config::count_either(std::string_view key, std::string_view other) {
  return count(has(key) || !has(other) ? key : other);
}

bool Config::flag_or(std::string_view key, bool fallback) {
  return in(key).boolean_or(key, fallback);
}

Result<ModelShape> ModelShape::from_config(const std::string& json, const std::string& where) {
  const Result<Document> document = Document::parse_json(json, where);
  if (document.has_error()) return document.error();
  Problems problems(where);
  Config config(document->root(), problems);
  if (!problems.empty()) return problems.error("read model configuration");
  const ModelFamily* family = find_family(config.model_type());
  if (family == nullptr) {
    return bad_input(where, "'model_type' is '" + config.model_type() + "', whose layers are not known here",
                     "known model types: " + known_model_types());
  }
  ModelShape shape;
  shape.name = config.model_type();
  read_attention(config, *family, shape);
  read_layers(config, *family, shape);
  const WeightCount weights = count_weights(config, *family, shape);
  shape.active_params = weights.active;
  shape.total_params = weights.total;
  shape.weight_element_bytes = fulcrum::weight_element_bytes(config, weights);
  if (!problems.empty()) return problems.error("read model configuration");
  return shape;
}

Result<ModelShape> ModelShape::from_file(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (text.has_error()) return text.error();
  Result<ModelShape> shape = from_config(*text, path);
  if (shape) shape->name = name_from(path);
  return shape;
}

}  // namespace fulcrum
