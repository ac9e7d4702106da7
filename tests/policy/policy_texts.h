// Policies as text for tests, and what is said about them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fulcrum/policy.h"
#include "fulcrum/profile.h"

namespace fulcrum::policy_texts {

inline const std::string kConfigs = std::string(FULCRUM_SOURCE_DIR) + "/configs/";

inline MachineProfile example() {
  return MachineProfile::load(kConfigs + "profiles/example.yaml").value();
}

inline PolicyConfig parsed(const std::string& text) {
  return PolicyConfig::parse(text, "p.yaml").value();
}

/// What is wrong with a text, or nothing.
inline std::string problems(const std::string& text) {
  const auto result = PolicyConfig::parse(text, "p.yaml");
  if (result) return "";
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input) << result.error().message();
  return result.error().detail;
}

inline std::string contradictions(const PolicyConfig& policy, const MachineProfile& profile) {
  const auto result = policy.check_against(profile);
  if (result) return "";
  EXPECT_EQ(result.error().kind, ErrorKind::mismatch);
  return result.error().detail;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Every key of the language, one a line, so that a test can spoil one at a time.
inline const std::vector<std::string> kFull = {
    "version: 1",
    "strategy: threshold",
    "block_tokens: 256",
    "tiers:",
    "  - name: dram",
    "    profile: host",
    "    capacity: 64 GiB",
    "    write_limit: 10 GB/s",
    "    write_limit_per_day: 2 TB",
    "    gate: 4",
    "    path: /mnt/a",
    "  - name: flash",
    "    capacity: 1 TiB",
    "    paths: [/mnt/b, /mnt/c]",
    "threshold_tokens: 1024",
    "risk:",
    "  load_quantile: 0.9",
    "  compute_quantile: 0.1",
    "  stop_loss: 1.5",
    "  margin: 2 ms",
    "preload:",
    "  enabled: true",
    "  staging: 2 GiB",
    "reuse:",
    "  prior: 0.25",
    "  half_life: 5 min",
    "gpu_price: 4",
    "engine:",
    "  staging: 3 GiB",
    "  deadline: 20 s",
    "  copy_threads: 6",
    "  shared_memory: true",
    "  huge_pages: always",
    "  numa_node: 1",
    "  limbo: 512 MiB",
    "  foreign: replace",
};

}  // namespace fulcrum::policy_texts
