#include <algorithm>
#include <string>

#include "base/document.h"
#include "base/quantity_text.h"
#include "policy/policy_reader.h"

namespace fulcrum {
namespace {

/// Lines "key: value  # origin".
class CommentedLines {
 public:
  explicit CommentedLines(const PolicyConfig& policy) : policy_(policy) {}

  void add(const std::string& indent, const std::string& path, std::string_view key,
           const std::string& value) {
    out_ += indent + std::string(key) + ": " + value + "  # " + origin(path + std::string(key)) + "\n";
  }
  void add_heading(const std::string& line) { out_ += line + "\n"; }
  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  [[nodiscard]] std::string origin(const std::string& key) const {
    const auto found = std::ranges::find(policy_.origins, key, [](const auto& pair) { return pair.first; });
    std::string text = found == policy_.origins.end() ? "set by the program" : found->second;
    // A path may hold a line break; a comment may not.
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
    return text;
  }

  const PolicyConfig& policy_;
  std::string out_;
};

void add_tier(CommentedLines& lines, const TierPolicy& tier, const std::string& path) {
  lines.add("  - ", path, "name", yaml_quote(tier.name));
  lines.add("    ", path, "profile", yaml_quote(tier.profile));
  lines.add("    ", path, "capacity", format_exact(tier.capacity));
  lines.add("    ", path, "write_limit", tier.write_limit ? format_exact(*tier.write_limit) : "none");
  const auto& daily = tier.write_limit_per_day;
  lines.add("    ", path, "write_limit_per_day", daily ? format_exact(*daily) : "none");
  lines.add("    ", path, "gate", tier.gate == 0 ? "auto" : std::to_string(tier.gate));
  if (tier.paths.size() == 1) lines.add("    ", path, "path", yaml_quote(tier.paths.front()));
  if (tier.paths.size() < 2) return;
  std::string list;
  for (const std::string& one : tier.paths) list += (list.empty() ? "" : ", ") + yaml_quote(one);
  lines.add("    ", path, "paths", "[" + list + "]");
}

void add_engine(CommentedLines& lines, const EnginePolicy& engine) {
  const std::string path = "engine.";
  lines.add_heading("engine:");
  lines.add("  ", path, "staging", format_exact(engine.staging));
  lines.add("  ", path, "deadline", format_exact(engine.deadline));
  lines.add("  ", path, "copy_threads", std::to_string(engine.copy_threads));
  lines.add("  ", path, "shared_memory", engine.shared_memory ? "true" : "false");
  lines.add("  ", path, "huge_pages",
            std::string(kHugePageNames[static_cast<std::size_t>(engine.huge_pages)]));
  lines.add("  ", path, "numa_node", engine.numa_node < 0 ? "auto" : std::to_string(engine.numa_node));
  lines.add("  ", path, "limbo", format_exact(engine.limbo));
  lines.add("  ", path, "foreign", std::string(kForeignNames[engine.replace_foreign ? 1 : 0]));
}

}  // namespace

std::string PolicyConfig::to_yaml() const {
  CommentedLines lines(*this);
  lines.add_heading("version: " + std::to_string(kVersion));
  lines.add("", "", "strategy", std::string(to_string(strategy)));
  lines.add("", "", "block_tokens", std::to_string(block_tokens.value()));
  lines.add_heading(tiers.empty() ? "tiers: []" : "tiers:");
  for (std::size_t i = 0; i < tiers.size(); ++i)
    add_tier(lines, tiers[i], "tiers[" + std::to_string(i) + "].");
  if (strategy == Strategy::threshold) {
    lines.add("", "", "threshold_tokens", std::to_string(threshold_tokens.value()));
  }
  lines.add_heading("risk:");
  lines.add("  ", "risk.", "load_quantile", format_exact(load_quantile));
  lines.add("  ", "risk.", "compute_quantile", format_exact(compute_quantile));
  lines.add("  ", "risk.", "stop_loss", format_exact(stop_loss));
  lines.add("  ", "risk.", "margin", format_exact(margin));
  lines.add_heading("preload:");
  lines.add("  ", "preload.", "enabled", preload ? "true" : "false");
  lines.add("  ", "preload.", "staging", format_exact(preload_staging));
  lines.add_heading("reuse:");
  lines.add("  ", "reuse.", "prior", format_exact(reuse_prior));
  lines.add("  ", "reuse.", "half_life", format_exact(reuse_half_life));
  lines.add("", "", "gpu_price", gpu_price == 0 ? "auto" : format_exact(gpu_price));
  add_engine(lines, engine);
  return lines.text();
}

}  // namespace fulcrum
