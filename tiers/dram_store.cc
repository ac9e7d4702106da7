#include "tiers/dram_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace fulcrum {

DramStore::DramStore(std::shared_ptr<RowPool> pool, std::size_t rows, const Clock& clock, TierTally& tally)
    : pool_(std::move(pool)), quota_(std::make_shared<RowQuota>(rows)), clock_(clock), tally_(tally) {}

Lease DramStore::find(const BlockKey& key) const {
  const auto found = blocks_.find(key);
  return found == blocks_.end() ? nullptr : found->second.row;
}

std::optional<std::vector<Row>> DramStore::reserve(std::size_t count) {
  return pool_->take(count, quota_);
}

void DramStore::keep(const BlockKey& key, const Place& place, Row row) {
  FULCRUM_CHECK(row.quota() == quota_.get(), "a row that this tier did not reserve");
  const auto [at, is_new] = blocks_.try_emplace(key);
  Block& block = at->second;
  block.place.worth = place.worth;
  block.used = clock_.now();
  if (!is_new) return;
  block.row = std::make_shared<const Row>(std::move(row));
  block.place = place;
  tally_.medium_written += pool_->row_bytes();
}

void DramStore::erase(std::span<const BlockKey> keys) {
  for (const BlockKey& key : keys) blocks_.erase(key);
}

void DramStore::touch(std::span<const BlockKey> keys, std::optional<float> worth) {
  const Seconds now = clock_.now();
  for (const BlockKey& key : keys) {
    const auto found = blocks_.find(key);
    if (found == blocks_.end()) continue;
    found->second.used = now;
    if (worth) found->second.place.worth = *worth;
  }
}

// In order of position, a block finds the run that its parent ends, unless a sibling took it before.
void DramStore::each_run(const std::function<void(const StoredRun&)>& visit) const {
  std::vector<std::pair<BlockKey, const Block*>> order;
  order.reserve(blocks_.size());
  for (const auto& [key, block] : blocks_) order.emplace_back(key, &block);
  const auto rank = [](const auto& each) {
    return std::tuple(each.second->place.first, each.first.high, each.first.low);
  };
  std::sort(order.begin(), order.end(), [&rank](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::vector<StoredRun> runs;
  std::unordered_map<BlockKey, std::size_t, KeyHash> ends;
  const Seconds now = clock_.now();
  for (const auto& [key, block] : order) {
    std::size_t run = runs.size();
    const auto found = ends.find(block->place.parent);
    if (found != ends.end() && runs[found->second].worth == block->place.worth) {
      run = found->second;
      ends.erase(found);
    } else {
      runs.push_back({block->place.parent, block->place.first, {}, block->place.worth, now - block->used});
    }
    runs[run].keys.push_back(key);
    runs[run].age = std::min(runs[run].age, now - block->used);
    ends.emplace(key, run);
  }
  for (const StoredRun& run : runs) visit(run);
}

}  // namespace fulcrum
