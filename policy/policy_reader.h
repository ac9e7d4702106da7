// PolicyReader: a policy's document into a PolicyConfig, with the origin of each value.
//
// Problems are collected, never thrown; what is wrong keeps its default. policy_reader.cc reads what decides,
// policy_reader_tiers.cc the tiers, policy_reader_engine.cc what the engine needs. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "fulcrum/policy.h"

namespace fulcrum {

/// The words of the language, in the order of their enumerators.
inline constexpr auto kStrategyNames =
    std::to_array<std::string_view>({"break_even", "load_always", "threshold", "none"});
static_assert(static_cast<std::size_t>(Strategy::none) + 1 == kStrategyNames.size());
inline constexpr auto kHugePageNames = std::to_array<std::string_view>({"auto", "always", "never"});
static_assert(static_cast<std::size_t>(EnginePolicy::HugePages::never) + 1 == kHugePageNames.size());
inline constexpr auto kForeignNames = std::to_array<std::string_view>({"refuse", "replace"});

/// Most bytes of any capacity.
inline constexpr std::int64_t kMostCapacity = std::int64_t{1} << 60;
/// Fewest bytes of a capacity, and of an amount a day.
inline constexpr std::int64_t kLeastCapacity = std::int64_t{1} << 20;

class PolicyReader {
 public:
  PolicyReader(PolicyConfig& policy, Problems& problems) : policy_(policy), problems_(problems) {}

  /// Reads all keys but `version`.
  void read(MapReader& root);

 private:
  /// True where the value is this word and not a quantity.
  static bool is_word(MapReader& reader, std::string_view key, std::string_view word);
  void note(const MapReader& reader, const std::string& path, std::string_view key);

  void read_threshold(MapReader& root);
  void read_risk(MapReader reader);
  void read_preload(MapReader reader);
  void read_reuse(MapReader reader);

  void read_tiers(MapReader& root);
  void read_tier(MapReader& reader, const std::string& path);
  void read_paths(MapReader& reader, TierPolicy& tier);
  void check_names(MapReader& reader, const TierPolicy& tier);
  void check_path(MapReader& reader, std::string_view key, const std::string& path,
                  const std::vector<std::string>& own);

  void read_engine(MapReader reader);
  void read_memory(MapReader& reader);

  PolicyConfig& policy_;
  Problems& problems_;
};

}  // namespace fulcrum
