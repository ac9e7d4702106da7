#include "policy/policy_reader.h"

#include <utility>

namespace fulcrum {
namespace {

constexpr std::int64_t kLongestBlock = 65536;
constexpr std::int64_t kLongestPrompt = std::int64_t{1} << 30;
constexpr double kYear = 365.0 * 86400;

}  // namespace

void PolicyReader::read(MapReader& root) {
  note(root, "", "strategy");
  policy_.strategy = static_cast<Strategy>(root.choice_or("strategy", 0, kStrategyNames));
  note(root, "", "block_tokens");
  policy_.block_tokens =
      Tokens(root.integer_or("block_tokens", policy_.block_tokens.value(), {1, kLongestBlock}));
  read_tiers(root);
  read_threshold(root);
  read_risk(root.map_or_empty("risk"));
  read_preload(root.map_or_empty("preload"));
  read_reuse(root.map_or_empty("reuse"));
  note(root, "", "gpu_price");
  if (!is_word(root, "gpu_price", "auto")) {
    policy_.gpu_price = root.number_or("gpu_price", policy_.gpu_price, {1e-3, 1e3});
  }
  read_engine(root.map_or_empty("engine"));
  root.finish();
}

bool PolicyReader::is_word(MapReader& reader, std::string_view key, std::string_view word) {
  reader.ignore(key);
  const Node* node = reader.node().find(key);
  return node != nullptr && node->kind == NodeKind::scalar && node->scalar == word;
}

void PolicyReader::note(const MapReader& reader, const std::string& path, std::string_view key) {
  std::string origin = "default";
  if (reader.has(key)) origin = problems_.where() + ":" + std::to_string(reader.mark(key).line);
  policy_.origins.emplace_back(path + std::string(key), std::move(origin));
}

void PolicyReader::read_threshold(MapReader& root) {
  if (policy_.strategy == Strategy::threshold) {
    note(root, "", "threshold_tokens");
    policy_.threshold_tokens = Tokens(root.integer("threshold_tokens", {0, kLongestPrompt}));
  } else if (root.has("threshold_tokens")) {
    root.ignore("threshold_tokens");
    root.problem("threshold_tokens", "belongs to strategy 'threshold'; this policy's strategy is '" +
                                         std::string(to_string(policy_.strategy)) + "'");
  }
}

void PolicyReader::read_risk(MapReader reader) {
  for (const char* key : {"load_quantile", "compute_quantile", "stop_loss", "margin"})
    note(reader, "risk.", key);
  policy_.load_quantile = reader.number_or("load_quantile", policy_.load_quantile, {0.5, 0.999});
  policy_.compute_quantile = reader.number_or("compute_quantile", policy_.compute_quantile, {0.001, 0.5});
  policy_.stop_loss = reader.number_or("stop_loss", policy_.stop_loss, {0.1, 10});
  policy_.margin = reader.seconds_or("margin", policy_.margin, {0, 60});
  reader.finish();
}

void PolicyReader::read_preload(MapReader reader) {
  for (const char* key : {"enabled", "staging"}) note(reader, "preload.", key);
  policy_.preload = reader.boolean_or("enabled", policy_.preload);
  policy_.preload_staging = reader.bytes_or("staging", policy_.preload_staging, {0, kMostCapacity});
  if (policy_.preload && policy_.preload_staging == Bytes(0)) {
    reader.problem("staging", "is 0 while preload is enabled; give it bytes, or write 'enabled: false'");
  }
  reader.finish();
}

void PolicyReader::read_reuse(MapReader reader) {
  for (const char* key : {"prior", "half_life"}) note(reader, "reuse.", key);
  policy_.reuse_prior = reader.number_or("prior", policy_.reuse_prior, {0, 1});
  policy_.reuse_half_life = reader.seconds_or("half_life", policy_.reuse_half_life, {1e-3, kYear});
  reader.finish();
}

}  // namespace fulcrum
