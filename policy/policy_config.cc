#include "fulcrum/policy.h"

#include <algorithm>
#include <array>

#include "base/atomic_file.h"
#include "base/document.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr auto kStrategies =
    std::to_array<std::string_view>({"break_even", "load_always", "threshold", "none"});
static_assert(static_cast<std::size_t>(Strategy::none) + 1 == kStrategies.size());

constexpr std::int64_t kLongestBlock = 65536;
constexpr std::int64_t kLongestPrompt = std::int64_t{1} << 30;
constexpr std::int64_t kLeastCapacity = std::int64_t{1} << 20;
constexpr std::int64_t kMostCapacity = std::int64_t{1} << 60;
constexpr std::size_t kMostTiers = 8;
constexpr std::int64_t kMostLoads = 1024;
constexpr double kYear = 365.0 * 86400;

/// Reads a policy and notes where each value came from.
class PolicyReader {
 public:
  PolicyReader(PolicyConfig& policy, Problems& problems) : policy_(policy), problems_(problems) {}

  void read(MapReader& root) {
    note(root, "", "strategy");
    policy_.strategy = static_cast<Strategy>(root.choice_or("strategy", 0, kStrategies));
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
    root.finish();
  }

 private:
  static bool is_word(MapReader& reader, std::string_view key, std::string_view word) {
    reader.ignore(key);
    const Node* node = reader.node().find(key);
    return node != nullptr && node->kind == NodeKind::scalar && node->scalar == word;
  }

  void note(const MapReader& reader, const std::string& path, std::string_view key) {
    std::string origin = "default";
    if (reader.has(key)) origin = problems_.where() + ":" + std::to_string(reader.mark(key).line);
    policy_.origins.emplace_back(path + std::string(key), std::move(origin));
  }

  void read_tiers(MapReader& root) {
    if (policy_.strategy == Strategy::none && !root.has("tiers")) return root.ignore("tiers");
    std::vector<MapReader> readers = root.maps("tiers");
    if (readers.size() > kMostTiers) root.problem("tiers", "holds more than " + std::to_string(kMostTiers));
    const bool wanted = policy_.strategy != Strategy::none && readers.empty() && root.has("tiers");
    if (wanted) root.problem("tiers", "is empty; this strategy needs at least one tier");
    for (MapReader& reader : readers)
      read_tier(reader, "tiers[" + std::to_string(policy_.tiers.size()) + "].");
  }

  void read_tier(MapReader& reader, const std::string& path) {
    TierPolicy tier;
    for (const char* key : {"name", "profile", "capacity", "write_limit", "gate"}) note(reader, path, key);
    tier.name = reader.text("name");
    tier.profile = reader.text_or("profile", tier.name);
    tier.capacity = reader.bytes("capacity", {kLeastCapacity, kMostCapacity});
    if (!is_word(reader, "write_limit", "none") && reader.has("write_limit")) {
      tier.write_limit = reader.rate("write_limit", {1, 1e15});
    }
    if (!is_word(reader, "gate", "auto")) {
      tier.gate = static_cast<int>(reader.integer_or("gate", 0, {1, kMostLoads}));
    }
    check_names(reader, tier);
    reader.finish();
    policy_.tiers.push_back(std::move(tier));
  }

  void check_names(MapReader& reader, const TierPolicy& tier) {
    const auto legal = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             c == '-';
    };
    const bool named = reader.has("name");
    if (named && (tier.name.empty() || !std::ranges::all_of(tier.name, legal))) {
      reader.problem("name", "may hold letters, digits, '_' and '-' only");
    }
    for (const TierPolicy& other : policy_.tiers) {
      if (named && other.name == tier.name) {
        reader.problem("name", "names a second tier '" + tier.name + "'");
      } else if (named && other.profile == tier.profile) {
        reader.problem("profile", "'" + tier.profile + "' is used by tier '" + other.name +
                                      "' already; one device carries one tier");
      }
    }
  }

  void read_threshold(MapReader& root) {
    if (policy_.strategy == Strategy::threshold) {
      note(root, "", "threshold_tokens");
      policy_.threshold_tokens = Tokens(root.integer("threshold_tokens", {0, kLongestPrompt}));
    } else if (root.has("threshold_tokens")) {
      root.ignore("threshold_tokens");
      root.problem("threshold_tokens", "belongs to strategy 'threshold'; this policy's strategy is '" +
                                           std::string(to_string(policy_.strategy)) + "'");
    }
  }

  void read_risk(MapReader reader) {
    for (const char* key : {"load_quantile", "compute_quantile", "stop_loss", "margin"})
      note(reader, "risk.", key);
    policy_.load_quantile = reader.number_or("load_quantile", policy_.load_quantile, {0.5, 0.999});
    policy_.compute_quantile = reader.number_or("compute_quantile", policy_.compute_quantile, {0.001, 0.5});
    policy_.stop_loss = reader.number_or("stop_loss", policy_.stop_loss, {0.1, 10});
    policy_.margin = reader.seconds_or("margin", policy_.margin, {0, 60});
    reader.finish();
  }

  void read_preload(MapReader reader) {
    for (const char* key : {"enabled", "staging"}) note(reader, "preload.", key);
    policy_.preload = reader.boolean_or("enabled", policy_.preload);
    policy_.preload_staging = reader.bytes_or("staging", policy_.preload_staging, {0, kMostCapacity});
    if (policy_.preload && policy_.preload_staging == Bytes(0)) {
      reader.problem("staging", "is 0 while preload is enabled; give it bytes, or write 'enabled: false'");
    }
    reader.finish();
  }

  void read_reuse(MapReader reader) {
    for (const char* key : {"prior", "half_life"}) note(reader, "reuse.", key);
    policy_.reuse_prior = reader.number_or("prior", policy_.reuse_prior, {0, 1});
    policy_.reuse_half_life = reader.seconds_or("half_life", policy_.reuse_half_life, {1e-3, kYear});
    reader.finish();
  }

  PolicyConfig& policy_;
  Problems& problems_;
};

}  // namespace

std::string_view to_string(Strategy strategy) {
  return kStrategies[static_cast<std::size_t>(strategy)];
}

Result<PolicyConfig> PolicyConfig::load(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text.error();
  return parse(*text, path);
}

Result<PolicyConfig> PolicyConfig::parse(const std::string& text, const std::string& where) {
  auto document = Document::parse_yaml(text, where);
  if (!document) return document.error();
  Problems problems(where);
  MapReader root(document->root(), problems);
  const std::int64_t version = root.integer("version");
  if (problems.empty() && version != kVersion) {
    return make_error(ErrorKind::mismatch, "read policy", where,
                      "version " + std::to_string(version) + " is not the version " +
                          std::to_string(kVersion) + " that this program reads",
                      "write the policy for version " + std::to_string(kVersion));
  }
  PolicyConfig policy;
  PolicyReader(policy, problems).read(root);
  if (!problems.empty()) return problems.error("read policy");
  return policy;
}

}  // namespace fulcrum
