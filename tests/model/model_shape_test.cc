// Model shapes against published facts, and what a broken configuration says.
#include "fulcrum/model_shape.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/atomic_file.h"
#include "tests/model/csv.h"

namespace fulcrum {
namespace {

const std::string kConfigs = std::string(FULCRUM_TEST_DATA) + "/model_configs/";

const std::map<std::string, std::string> kFiles = {
    {"Llama-3.2-3B", "facts--Llama-3.2-3B"},
    {"Llama-3.1-8B", "facts--Llama-3.1-8B"},
    {"Llama-3.3-70B", "facts--Llama-3.3-70B"},
    {"Qwen2.5-7B", "facts--Qwen2.5-7B"},
    {"Qwen2.5-32B", "facts--Qwen2.5-32B"},
    {"Qwen3-8B", "Qwen--Qwen3-8B"},
    {"Qwen3-32B", "Qwen--Qwen3-32B"},
    {"Qwen3-30B-A3B", "Qwen--Qwen3-30B-A3B"},
    {"Qwen3-Coder-30B-A3B", "facts--Qwen3-Coder-30B-A3B"},
    {"Qwen3-235B-A22B", "Qwen--Qwen3-235B-A22B"},
    {"Qwen3-Coder-480B-A35B", "Qwen--Qwen3-Coder-480B-A35B-Instruct"},
    {"gpt-oss-120b", "openai--gpt-oss-120b"},
    {"Gemma-3-12B", "facts--Gemma-3-12B"},
    {"Gemma-3-27B", "facts--Gemma-3-27B"},
    {"DeepSeek-V3", "deepseek-ai--DeepSeek-V3"},
    {"DeepSeek-R1", "deepseek-ai--DeepSeek-R1"},
    {"DeepSeek-V3.2", "deepseek-ai--DeepSeek-V3.2"},
    {"Kimi-K2", "moonshotai--Kimi-K2-Instruct"},
    {"Qwen3.5-27B", "Qwen--Qwen3.5-27B"},
};

ModelShape shape_of(const std::string& file) {
  const Result<ModelShape> shape = ModelShape::from_file(kConfigs + file + "_config.json");
  EXPECT_TRUE(shape.has_value()) << (shape.has_error() ? shape.error().message() : "");
  return shape.has_value() ? *shape : ModelShape{};
}

std::string message_of(const std::string& json) {
  const Result<ModelShape> shape = ModelShape::from_config(json, "config.json");
  EXPECT_TRUE(shape.has_error());
  if (shape.has_value()) return {};
  EXPECT_EQ(shape.error().kind, ErrorKind::bad_input);
  return shape.error().message();
}

std::string config_text(const std::string& file) {
  const Result<std::string> text = read_file(kConfigs + file + "_config.json");
  EXPECT_TRUE(text.has_value());
  return text.has_value() ? *text : std::string();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ModelShape, AgreesWithEveryRowOfTheFacts) {
  const auto rows = test::read_csv(kConfigs + "model_facts.csv");
  ASSERT_EQ(rows.size(), kFiles.size());
  for (const auto& row : rows) {
    SCOPED_TRACE(row.at("model"));
    const ModelShape shape = shape_of(kFiles.at(row.at("model")));
    EXPECT_EQ(shape.kv_bytes_per_token().value(), std::stod(row.at("kv_bytes_per_token")));
    EXPECT_EQ(shape.kv_bytes_fixed().value(), std::stoll(row.at("kv_bytes_per_sequence_fixed")));
    EXPECT_EQ(shape.layers, std::stoll(row.at("layers")));
    EXPECT_EQ(shape.full_attention_layers, std::stoll(row.at("full_attention_layers")));
    EXPECT_EQ(shape.window_layers + shape.linear_layers, std::stoll(row.at("window_layers")));
    EXPECT_EQ(shape.window_tokens, std::stoll(row.at("window_tokens")));
    EXPECT_EQ(shape.experts, std::stoll(row.at("experts")));
    EXPECT_EQ(shape.max_positions, std::stoll(row.at("max_positions")));
    if (row.at("active_params").empty()) continue;
    EXPECT_EQ(shape.active_params, std::stoll(row.at("active_params")));
    EXPECT_EQ(shape.total_params, std::stoll(row.at("total_params")));
  }
}

TEST(ModelShape, CountsAHybridOfLinearLayersNearItsPublishedSize) {
  const ModelShape shape = shape_of("Qwen--Qwen3.5-27B");
  EXPECT_EQ(shape.linear_layers, 48);
  EXPECT_NEAR(static_cast<double>(shape.total_params), 27e9, 0.5e9);
}

TEST(ModelShape, WeighsQuantisedCheckpointsAsTheyAreStored) {
  EXPECT_DOUBLE_EQ(shape_of("deepseek-ai--DeepSeek-V3").weight_element_bytes, 1.0);
  EXPECT_DOUBLE_EQ(shape_of("Qwen--Qwen3-8B").weight_element_bytes, 2.0);
  // Published checkpoint of gpt-oss-120b: 60.8 GiB; only its experts are in 4 bits.
  EXPECT_NEAR(static_cast<double>(shape_of("openai--gpt-oss-120b").weight_bytes().value()), 60.8 * 0x1p30,
              1.5e9);
}

TEST(ModelShape, HoldsFewerBytesOfAPrefixShorterThanItsWindows) {
  const ModelShape shape = shape_of("facts--Gemma-3-12B");
  const double per_window_token = 2.0 * 8 * 256 * 2 * 40;
  EXPECT_EQ(shape.kv_bytes(Tokens(0)).value(), 0);
  EXPECT_EQ(shape.kv_bytes(Tokens(100)).value(), static_cast<std::int64_t>(100 * (65536 + per_window_token)));
  EXPECT_EQ(shape.kv_bytes(Tokens(5000)), Tokens(5000) * shape.kv_bytes_per_token() + shape.kv_bytes_fixed());
}

TEST(ModelShape, CountsAttentionPairsAsALoopDoes) {
  for (const char* file : {"facts--Llama-3.1-8B", "openai--gpt-oss-120b", "deepseek-ai--DeepSeek-V3.2"}) {
    const ModelShape s = shape_of(file);
    for (const auto& [fresh, cached] :
         {std::pair{1, 0}, {50, 100}, {300, 0}, {200, 60}, {700, 1900}, {40, 5000}}) {
      double flops = 0;
      const double pair = static_cast<double>(2 * s.heads * (s.head_dim + s.value_dim));
      for (int row = cached + 1; row <= cached + fresh; ++row) {
        const auto seen = [row](std::int64_t limit) { return limit > 0 && row > limit ? limit : row; };
        flops += static_cast<double>(s.full_attention_layers) *
                 (pair * static_cast<double>(seen(s.sparse_tokens)) +
                  static_cast<double>(s.indexer_flops_per_pair) * row);
        flops += static_cast<double>(s.window_layers) * pair * static_cast<double>(seen(s.window_tokens));
      }
      EXPECT_NEAR(s.attention_flops(Tokens(fresh), Tokens(cached)) / flops, 1, 1e-12) << file << ' ' << fresh;
    }
  }
}

TEST(ModelShape, TakesTwoOperationsAWeightAndTheHeadOnce) {
  const ModelShape s = shape_of("facts--Llama-3.1-8B");
  const double head = 2.0 * 4096 * 128256;
  const double body = 2.0 * 6979321856.0;
  EXPECT_DOUBLE_EQ(s.linear_flops(Tokens(1)), body + head);
  EXPECT_DOUBLE_EQ(s.linear_flops(Tokens(1000)), 1000 * body + head);
  EXPECT_EQ(s.linear_flops(Tokens(0)), 0);
}

TEST(ModelShape, NamesTheModelTypeItDoesNotKnow) {
  const std::string text = message_of(R"({"model_type": "rwkv7", "num_hidden_layers": 4})");
  EXPECT_NE(text.find("'model_type' is 'rwkv7'"), std::string::npos) << text;
  EXPECT_NE(text.find("qwen3_moe"), std::string::npos) << text;
  EXPECT_NE(message_of(R"({"num_hidden_layers": 4})").find("model_type"), std::string::npos);
}

TEST(ModelShape, NamesEveryMissingField) {
  const std::string text = message_of(R"({"model_type": "llama", "num_attention_heads": 32})");
  for (const char* field : {"num_hidden_layers", "hidden_size", "vocab_size", "intermediate_size"}) {
    EXPECT_NE(text.find(field), std::string::npos) << field << " is not in: " << text;
  }
  for (const char* field : {"kv_lora_rank", "qk_rope_head_dim", "v_head_dim", "num_experts_per_tok"}) {
    const std::string all = config_text("deepseek-ai--DeepSeek-V3");
    const std::string without =
        replaced(all, std::string("\"") + field + "\"", std::string("\"not_") + field + "\"");
    EXPECT_NE(message_of(without).find(field), std::string::npos) << field;
  }
}

TEST(ModelShape, RefusesImpossibleFields) {
  const std::string good = config_text("Qwen--Qwen3-8B");
  EXPECT_NE(message_of(replaced(good, "\"hidden_size\": 4096", "\"hidden_size\": -1")).find("hidden_size"),
            std::string::npos);
  EXPECT_NE(message_of(replaced(good, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 7"))
                .find("num_key_value_heads"),
            std::string::npos);
  EXPECT_NE(
      message_of(replaced(good, "\"vocab_size\": 151936", "\"vocab_size\": \"many\"")).find("vocab_size"),
      std::string::npos);
  const std::string hybrid = config_text("openai--gpt-oss-120b");
  EXPECT_NE(message_of(replaced(hybrid, "full_attention", "dreaming_attention")).find("dreaming_attention"),
            std::string::npos);
  EXPECT_NE(message_of(replaced(hybrid, "\"num_hidden_layers\": 36", "\"num_hidden_layers\": 40"))
                .find("layer_types"),
            std::string::npos);
  EXPECT_NE(message_of(replaced(hybrid, "mxfp4", "telepathy")).find("quantization_config"),
            std::string::npos);
  EXPECT_FALSE(message_of("{\"model_type\": ").empty());
  EXPECT_FALSE(message_of("[1, 2]").empty());
}

}  // namespace
}  // namespace fulcrum
