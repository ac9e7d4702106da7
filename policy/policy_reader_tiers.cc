#include <algorithm>
#include <filesystem>
#include <utility>

#include "policy/policy_reader.h"

namespace fulcrum {
namespace {

constexpr std::size_t kMostTiers = 8;
constexpr std::size_t kMostPaths = 64;
constexpr std::int64_t kMostLoads = 1024;

bool legal_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// "/a/b" and "/a/./b/" are one directory.
std::string plain(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

void PolicyReader::read_tiers(MapReader& root) {
  if (policy_.strategy == Strategy::none && !root.has("tiers")) return root.ignore("tiers");
  std::vector<MapReader> readers = root.maps("tiers");
  if (readers.size() > kMostTiers) root.problem("tiers", "holds more than " + std::to_string(kMostTiers));
  const bool wanted = policy_.strategy != Strategy::none && readers.empty() && root.has("tiers");
  if (wanted) root.problem("tiers", "is empty; this strategy needs at least one tier");
  for (MapReader& reader : readers) read_tier(reader, "tiers[" + std::to_string(policy_.tiers.size()) + "].");
}

void PolicyReader::read_tier(MapReader& reader, const std::string& path) {
  TierPolicy tier;
  for (const char* key : {"name", "profile", "capacity", "write_limit", "write_limit_per_day", "gate"})
    note(reader, path, key);
  for (const char* key : {"path", "paths"}) {
    if (reader.has(key)) note(reader, path, key);
  }
  tier.name = reader.text("name");
  tier.profile = reader.text_or("profile", tier.name);
  tier.capacity = reader.bytes("capacity", {kLeastCapacity, kMostCapacity});
  if (!is_word(reader, "write_limit", "none") && reader.has("write_limit")) {
    tier.write_limit = reader.rate("write_limit", {1, 1e15});
  }
  if (!is_word(reader, "write_limit_per_day", "none") && reader.has("write_limit_per_day")) {
    tier.write_limit_per_day = reader.bytes("write_limit_per_day", {kLeastCapacity, kMostCapacity});
  }
  if (!is_word(reader, "gate", "auto")) {
    tier.gate = static_cast<int>(reader.integer_or("gate", 0, {1, kMostLoads}));
  }
  read_paths(reader, tier);
  check_names(reader, tier);
  reader.finish();
  policy_.tiers.push_back(std::move(tier));
}

void PolicyReader::read_paths(MapReader& reader, TierPolicy& tier) {
  for (const char* key : {"path", "paths"}) reader.ignore(key);
  if (reader.has("path")) {
    const std::size_t before = problems_.size();
    const std::string path = reader.text("path");
    if (problems_.size() > before) return;
    check_path(reader, "path", path, tier.paths);
    tier.paths.push_back(path);
  }
  if (!reader.has("paths")) return;
  if (reader.has("path")) return reader.problem("paths", "is given beside 'path'; keep one of them");
  const std::size_t before = problems_.size();
  const std::vector<std::string> paths = reader.texts("paths");
  if (problems_.size() > before) return;
  if (paths.empty()) reader.problem("paths", "is empty; name a directory, or leave the key out");
  if (paths.size() > kMostPaths) {
    return reader.problem("paths", "holds more than " + std::to_string(kMostPaths));
  }
  for (const std::string& path : paths) {
    check_path(reader, "paths", path, tier.paths);
    tier.paths.push_back(path);
  }
}

void PolicyReader::check_path(MapReader& reader, std::string_view key, const std::string& path,
                              const std::vector<std::string>& own) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (path.empty()) return reader.problem(key, "names no directory");
  if (std::ranges::any_of(path, control)) return reader.problem(key, "may not hold control characters");
  const auto same = [&](const std::string& other) { return plain(other) == plain(path); };
  if (std::ranges::any_of(own, same)) return reader.problem(key, "names '" + path + "' twice");
  for (const TierPolicy& other : policy_.tiers) {
    if (!std::ranges::any_of(other.paths, same)) continue;
    return reader.problem(key, "'" + path + "' is used by tier '" + other.name + "' already");
  }
}

void PolicyReader::check_names(MapReader& reader, const TierPolicy& tier) {
  const bool named = reader.has("name");
  if (named && (tier.name.empty() || !std::ranges::all_of(tier.name, legal_in_name))) {
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

}  // namespace fulcrum
