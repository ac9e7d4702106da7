// EngineCore: the start. What the tiers hold from earlier lives becomes known.
#include <algorithm>
#include <utility>

#include "engine/core.h"

namespace fulcrum::engine {

void EngineCore::attach(TierId id, std::unique_ptr<TierPort> port, std::string io, TierStatus status) {
  tier(id).status = std::move(status);
  tier(id).port = std::move(port);
  tier(id).io = std::move(io);
}

// A run may hang below one of a tier that is not restored yet: those that were refused are tried again.
void EngineCore::restore(TierId id, std::span<const StoredRun> found, Seconds now) {
  now_ = std::max(now, now_);
  std::vector<StoredRun> left = place(id, found);
  const bool some = left.size() < found.size();
  unplaced_[id] = std::move(left);
  for (bool more = some; more;) {
    more = false;
    for (auto& [tier, runs] : unplaced_) {
      const std::size_t before = runs.size();
      if (before > 0) runs = place(tier, runs);
      more = more || runs.size() < before;
    }
  }
  carry_out(now_);
}

/// Tells the decider of runs; returns those that it has no place for.
std::vector<StoredRun> EngineCore::place(TierId id, std::span<const StoredRun> found) {
  std::vector<FoundRun> runs;
  runs.reserve(found.size());
  for (const StoredRun& run : found) runs.push_back({run.parent, run.first, run.keys, run.age});
  std::vector<StoredRun> refused;
  for (const std::size_t i : decider_.restore(id, runs, now_)) refused.push_back(found[i]);
  return refused;
}

// All tiers are restored: what has no place now will never have one.
void EngineCore::erase_unplaced() {
  for (auto& [id, runs] : unplaced_) {
    std::vector<BlockKey> unwanted;
    for (const StoredRun& run : runs) unwanted.insert(unwanted.end(), run.keys.begin(), run.keys.end());
    if (!unwanted.empty()) tier(id).port->erase(std::move(unwanted));
  }
  unplaced_.clear();
}

void EngineCore::restore_budget(TierId id, Bytes written_today) {
  const TierPolicy& policy = decider_.policy().tiers[static_cast<std::size_t>(id)];
  const bool limited = policy.write_limit || policy.write_limit_per_day;  // by the operator
  if (!limited || written_today == Bytes(0)) return;
  WriteBudgetState state = decider_.write_budget(id);
  // How much of the operator's burst was used before is not known. The device's own pace starts anew.
  if (policy.write_limit) state.left = 0;
  state.day_left -= static_cast<double>(written_today.value());
  decider_.restore_write_budget(id, state, Seconds(0));
}

}  // namespace fulcrum::engine
