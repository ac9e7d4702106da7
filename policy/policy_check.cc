#include <algorithm>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "fulcrum/policy.h"
#include "policy/write_budget.h"

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
    const Bytes block = policy_.strategy == Strategy::none ? Bytes(0) : block_bytes();
    if (policy_.engine.staging < block) add("engine.staging", less_than(policy_.engine.staging, block));
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

  /// Of one block, or 0 where the profile does not say.
  [[nodiscard]] Bytes block_bytes() const {
    if (!profile_.prefill || !(profile_.prefill->kv_bytes_per_token > BytesPerToken(0))) return Bytes(0);
    return policy_.block_tokens * profile_.prefill->kv_bytes_per_token;
  }

  static std::string less_than(Bytes held, Bytes block) {
    return format(held) + " holds less than one block of " + format(block);
  }

  /// Capacity and staging must hold one block at least, and the write limits let one through.
  void check_blocks() {
    const Bytes block = block_bytes();
    for (std::size_t i = 0; i < policy_.tiers.size(); ++i) {
      const TierPolicy& tier = policy_.tiers[i];
      if (tier.capacity < block) add(key_of(i, "capacity"), less_than(tier.capacity, block));
      check_limits(i, block);
    }
    if (policy_.preload && policy_.preload_staging < block) {
      add("preload.staging", less_than(policy_.preload_staging, block));
    }
  }

  void check_limits(std::size_t i, Bytes block) {
    const TierPolicy& tier = policy_.tiers[i];
    const BytesPerSecond least = block / WriteBudget::kLimitBurst;
    if (tier.write_limit && *tier.write_limit < least) {
      add(key_of(i, "write_limit"), format(*tier.write_limit) + " never lets a block of " + format(block) +
                                        " through; it takes " + format(least) + " at least");
    }
    const auto share = static_cast<std::int64_t>(WriteBudget::kDayShare);
    if (tier.write_limit_per_day && *tier.write_limit_per_day / share < block) {
      add(key_of(i, "write_limit_per_day"), format(*tier.write_limit_per_day) + " never lets a block of " +
                                                format(block) + " through; it takes " +
                                                std::to_string(share) + " times as much at least");
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
    if (costs->medium == Medium::dram && !policy_.tiers[i].paths.empty()) {
      add(key_of(i, policy_.tiers[i].paths.size() == 1 ? "path" : "paths"),
          "'" + costs->name + "' is host memory and has no directory; leave the key out");
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

  /// dram tiers and what is staged share the host's memory.
  void check_memory() {
    const Bytes memory = profile_.provenance.memory;
    if (memory <= Bytes(0)) return;
    Bytes wanted = policy_.engine.staging + (policy_.preload ? policy_.preload_staging : Bytes(0));
    for (std::size_t i = 0; i < policy_.tiers.size(); ++i) {
      const TierProfile* costs = profile_of(i);
      if (costs != nullptr && costs->medium == Medium::dram) wanted += policy_.tiers[i].capacity;
    }
    if (wanted > memory) {
      add("preload.staging",
          "dram tiers and staging want " + format(wanted) + " of a machine with " + format(memory));
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
  return make_error(ErrorKind::mismatch, "use", "the policy", std::move(lines),
                    "change these keys, or calibrate this machine anew");
}

std::vector<std::string> PolicyConfig::too_large_for(const MachineProfile& profile) const {
  return Comparison(*this, profile).run_capacities();
}

}  // namespace fulcrum
