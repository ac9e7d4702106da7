#include <algorithm>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "fulcrum/policy.h"

namespace fulcrum {
namespace {

/// Collects contradictions between one policy and one profile, each with the policy's line where known.
class Comparison {
 public:
  Comparison(const PolicyConfig& policy, const MachineProfile& profile)
      : policy_(policy), profile_(profile) {}

  std::vector<std::string> run() {
    if (policy_.strategy == Strategy::break_even && !profile_.prefill) {
      add("strategy",
          "break_even needs prefill costs and the profile has none; calibrate with --prefill, "
          "--prefill-server or --prefill-datasheet");
    }
    if (policy_.strategy != Strategy::none) check_blocks();
    for (std::size_t i = 0; i < policy_.tiers.size(); ++i) check_tier(i);
    return std::move(problems_);
  }

  std::vector<std::string> run_capacities() {
    for (std::size_t i = 0; i < policy_.tiers.size(); ++i) check_space(i);
    check_memory();
    return std::move(problems_);
  }

 private:
  void add(const std::string& key, const std::string& what) {
    std::string place = place_of(key);
    // A profile's name that was left out is the tier's name.
    if (place.empty() && key.ends_with(".profile")) place = place_of(key.substr(0, key.rfind('.')) + ".name");
    problems_.push_back(place + key + ": " + what);
  }

  /// "file:line: ", or nothing where the policy does not say.
  [[nodiscard]] std::string place_of(const std::string& key) const {
    const auto found = std::ranges::find(policy_.origins, key, [](const auto& pair) { return pair.first; });
    const bool known = found != policy_.origins.end() && found->second != "default";
    return known ? found->second + ": " : "";
  }

  static std::string key_of(std::size_t tier, std::string_view field) {
    return "tiers[" + std::to_string(tier) + "]." + std::string(field);
  }

  [[nodiscard]] const TierProfile* profile_of(std::size_t i) const {
    return profile_.tier(policy_.tiers[i].profile);
  }

  /// Capacity and staging must hold one block at least.
  void check_blocks() {
    if (!profile_.prefill || !(profile_.prefill->kv_bytes_per_token > BytesPerToken(0))) return;
    const Bytes block = policy_.block_tokens * profile_.prefill->kv_bytes_per_token;
    for (std::size_t i = 0; i < policy_.tiers.size(); ++i) {
      if (policy_.tiers[i].capacity >= block) continue;
      add(key_of(i, "capacity"),
          format(policy_.tiers[i].capacity) + " holds less than one block of " + format(block));
    }
    if (policy_.preload && policy_.preload_staging < block) {
      add("preload.staging",
          format(policy_.preload_staging) + " holds less than one block of " + format(block));
    }
  }

  void check_tier(std::size_t i) {
    const TierProfile* costs = profile_of(i);
    if (costs == nullptr) return add_unknown(i);
    if (costs->verdict == Verdict::invalid) {
      add(key_of(i, "profile"), "the profile's tier '" + costs->name +
                                    "' was not measured well enough to be used; "
                                    "calibrate it again");
    }
    if (costs->medium == Medium::hdd && !dram_above(i)) {
      add(key_of(i, "profile"),
          "'" + costs->name +
              "' is an HDD with no dram tier above it. Blocks leave the GPU at "
              "some 0.7 GB/s and would wait for seeks and commits; put a dram tier first");
    }
    check_order(i, *costs);
  }

  void check_space(std::size_t i) {
    const TierProfile* costs = profile_of(i);
    const Bytes capacity = policy_.tiers[i].capacity;
    if (costs == nullptr || costs->space <= Bytes(0) || capacity <= costs->space) return;
    add(key_of(i, "capacity"),
        format(capacity) + " is more than the " + format(costs->space) + " of '" + costs->name + "'");
  }

  void add_unknown(std::size_t i) {
    std::vector<std::string_view> names;
    std::string list;
    for (const TierProfile& tier : profile_.tiers) {
      names.push_back(tier.name);
      list += (list.empty() ? "" : ", ") + tier.name;
    }
    const std::string_view near = nearest(policy_.tiers[i].profile, names);
    const std::string hint = near.empty() ? "" : "; did you mean '" + std::string(near) + "'?";
    add(key_of(i, "profile"), "the profile has no tier '" + policy_.tiers[i].profile +
                                  "' (it has: " + (list.empty() ? "none" : list) + ")" + hint);
  }

  [[nodiscard]] bool dram_above(std::size_t i) const {
    for (std::size_t above = 0; above < i; ++above) {
      const TierProfile* costs = profile_of(above);
      if (costs != nullptr && costs->medium == Medium::dram) return true;
    }
    return false;
  }

  /// Fastest first. Overlapping intervals are no contradiction: either order may be right.
  void check_order(std::size_t i, const TierProfile& costs) {
    const TierProfile* above = i == 0 ? nullptr : profile_of(i - 1);
    if (above == nullptr || !(above->read.high < costs.read.low)) return;
    add(key_of(i, "name"), "reads at " + format(costs.read.value) + ", faster than '" + above->name +
                               "' above it (" + format(above->read.value) + "); list the fastest tier first");
  }

  /// dram tiers and the preload staging share the host's memory.
  void check_memory() {
    const Bytes memory = profile_.provenance.memory;
    if (memory <= Bytes(0)) return;
    Bytes wanted = policy_.preload ? policy_.preload_staging : Bytes(0);
    for (std::size_t i = 0; i < policy_.tiers.size(); ++i) {
      const TierProfile* costs = profile_of(i);
      if (costs != nullptr && costs->medium == Medium::dram) wanted += policy_.tiers[i].capacity;
    }
    if (wanted > memory) {
      add("preload.staging",
          "dram tiers and preload staging want " + format(wanted) + " of a machine with " + format(memory));
    }
  }

  const PolicyConfig& policy_;
  const MachineProfile& profile_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<void> PolicyConfig::check_against(const MachineProfile& profile) const {
  const std::vector<std::string> problems = Comparison(*this, profile).run();
  if (problems.empty()) return {};
  std::string lines;
  for (const std::string& problem : problems) lines += (lines.empty() ? "" : "\n") + problem;
  return make_error(ErrorKind::mismatch, "use policy", {}, std::move(lines));
}

std::vector<std::string> PolicyConfig::too_large_for(const MachineProfile& profile) const {
  return Comparison(*this, profile).run_capacities();
}

}  // namespace fulcrum
