// Mistakes in policies: each key of the language spoilt in every way, one at a time.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "policy_texts.h"

namespace fulcrum {
namespace {

using namespace policy_texts;

struct Spoil {
  const char* key;    ///< of the first line with it, or of the first one behind that of "section: key"
  const char* below;  ///< a value under the range
  const char* above;  ///< a value over the range
  const char* unit;   ///< a value with another unit, or a unit where none belongs
  const char* type;   ///< a value of another type
};

const Spoil kSpoils[] = {
    {"strategy", nullptr, nullptr, "5 ms", "[break_even]"},
    {"block_tokens", "0", "65537", "256 B", "many"},
    {"name", "\"\"", nullptr, "\"a b\"", "[a]"},
    {"profile", nullptr, nullptr, "12", "{a: b}"},
    {"capacity", "0 B", "4096 PiB", "64 ms", "large"},
    {"write_limit", "0 B/s", "1e9 PB/s", "10 GB", "[1]"},
    {"write_limit_per_day", "0 B", "4096 PiB", "2 TB/s", "2000"},
    {"gate", "0", "1025", "4 KiB", "open"},
    {"path", "\"\"", nullptr, "12", "[/mnt/a]"},
    {"paths", "[]", nullptr, "12", "/mnt/b"},
    {"threshold_tokens", "-1", "99999999999", "1 KiB", "\"1024\""},
    {"load_quantile", "0.49", "1", "90 ms", "high"},
    {"compute_quantile", "0", "0.51", "10 us", "[0.1]"},
    {"stop_loss", "0.01", "11", "1 s", "true"},
    {"margin", "-1 ms", "2 min", "2 MB", "2"},
    {"enabled", nullptr, nullptr, "1 s", "yes"},
    {"staging", "-1 B", "4096 PiB", "2 GB/s", "4"},
    {"prior", "-0.1", "1.1", "1 h", "nan"},
    {"half_life", "0 s", "400 d", "5 GiB", "300"},
    {"gpu_price", "0", "1001", "4 s", "cheap"},
    {"engine: staging", "1023 KiB", "4096 PiB", "2 GB/s", "4"},
    {"deadline", "0 s", "61 min", "2 MB", "60"},
    {"copy_threads", "0", "65", "4 KiB", "many"},
    {"shared_memory", nullptr, nullptr, "1 s", "yes"},
    {"huge_pages", nullptr, nullptr, "2 MiB", "[auto]"},
    {"numa_node", "-1", "1024", "4 KiB", "[0]"},
    {"limbo", "-1 B", "4096 PiB", "2 GB/s", "4"},
    {"foreign", nullptr, nullptr, "1 s", "[refuse]"},
};

/// The key of a spoil and its line in the full policy.
struct Target {
  explicit Target(std::string name) : key(std::move(name)) {
    if (const std::size_t colon = key.find(": "); colon != std::string::npos) {
      line = Target(key.substr(0, colon)).line;
      key.erase(0, colon + 2);
    }
    const auto here = [&] {
      const std::size_t found = kFull[line].find(key + ":");
      return found != std::string::npos && (found == 0 || kFull[line][found - 1] == ' ');
    };
    while (line + 1 < kFull.size() && !here()) ++line;
    EXPECT_TRUE(here()) << key << " is not in the full policy";
    at = kFull[line].find(key);
  }
  std::string key;
  std::size_t line = 0;
  std::size_t at = 0;
};

std::string place(std::size_t line, std::size_t column) {
  return "p.yaml:" + std::to_string(line + 1) + ":" + std::to_string(column + 1) + ": ";
}

TEST(PolicyFile, AWrongValueInAnyKeyIsReportedAtItsPlace) {
  for (const Spoil& spoil : kSpoils) {
    const auto [key, line, at] = Target(spoil.key);
    const std::size_t value_at = kFull[line].find(": ") + 2;
    for (const char* value : {spoil.below, spoil.above, spoil.unit, spoil.type}) {
      if (value == nullptr) continue;
      std::vector<std::string> lines = kFull;
      lines[line] = lines[line].substr(0, value_at) + value;
      const std::string said = problems(joined(lines));
      EXPECT_NE(said.find(place(line, value_at)), std::string::npos) << lines[line] << " -> " << said;
      EXPECT_NE(said.find(key), std::string::npos) << lines[line] << " -> " << said;
    }
  }
}

TEST(PolicyFile, AMisspeltKeyIsReportedWithTheRightOne) {
  for (const Spoil& spoil : kSpoils) {
    const auto [key, line, at] = Target(spoil.key);
    std::vector<std::string> lines = kFull;
    lines[line].erase(at + 2, 1);
    const std::string said = problems(joined(lines));
    EXPECT_NE(said.find(place(line, at) + "unknown key"), std::string::npos) << lines[line] << " -> " << said;
    EXPECT_NE(said.find("did you mean '" + key + "'?"), std::string::npos) << said;
  }
}

TEST(PolicyFile, ADuplicateKeyIsReportedAtTheSecondOne) {
  for (const Spoil& spoil : kSpoils) {
    const auto [key, line, at] = Target(spoil.key);
    std::vector<std::string> lines = kFull;
    const std::string copy = std::string(at, ' ') + lines[line].substr(at);
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line) + 1, copy);
    const std::string said = problems(joined(lines));
    const std::string expected = place(line + 1, at) + "duplicate key";
    EXPECT_NE(said.find(expected), std::string::npos) << copy << " -> " << said;
    EXPECT_NE(said.find("first given on line " + std::to_string(line + 1)), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace fulcrum
