#include "replay/load_waits.h"

#include <algorithm>

#include "base/check.h"

namespace fulcrum::replay {

void LoadWaits::mark(Wait& wait, std::uint32_t block) {
  if (wait.arrived[block]) return;
  wait.arrived[block] = true;
  --wait.missing;
}

void LoadWaits::expect(std::uint32_t request, std::span<const BlockKey> keys) {
  Wait wait{{keys.begin(), keys.end()}, std::vector<bool>(keys.size()), keys.size()};
  const bool fresh = waits_.emplace(request, std::move(wait)).second;
  FULCRUM_CHECK(fresh, "a request waits once at a time");
  for (std::uint32_t block = 0; block < keys.size(); ++block) {
    waiters_[keys[block]].push_back(Waiter{request, block});
  }
}

bool LoadWaits::wanted(std::span<const BlockKey> keys) const {
  return std::any_of(keys.begin(), keys.end(),
                     [this](const BlockKey& key) { return waiters_.contains(key); });
}

std::vector<std::uint32_t> LoadWaits::deliver(std::span<const BlockKey> keys, std::size_t arrived) {
  std::vector<std::uint32_t> ended;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = waiters_.find(keys[i]);
    if (found == waiters_.end()) continue;
    for (const Waiter& waiter : found->second) {
      Wait& wait = waits_.at(waiter.request);
      if (i < arrived) mark(wait, waiter.block);
      if (i >= arrived ? !wait.arrived[waiter.block] : wait.missing == 0) ended.push_back(waiter.request);
    }
  }
  std::sort(ended.begin(), ended.end());
  ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
  return ended;
}

void LoadWaits::credit(std::uint32_t request, std::span<const BlockKey> keys) {
  Wait& wait = waits_.at(request);
  for (const BlockKey& key : keys) {
    const auto found = waiters_.find(key);
    if (found == waiters_.end()) continue;
    for (const Waiter& waiter : found->second) {
      if (waiter.request == request) mark(wait, waiter.block);
    }
  }
}

std::size_t LoadWaits::finish(std::uint32_t request) {
  const auto node = waits_.extract(request);
  FULCRUM_CHECK(!node.empty(), "the request does not wait");
  const Wait& wait = node.mapped();
  for (const BlockKey& key : wait.keys) {
    const auto found = waiters_.find(key);
    std::erase_if(found->second, [request](const Waiter& waiter) { return waiter.request == request; });
    if (found->second.empty()) waiters_.erase(found);
  }
  const auto gap = std::find(wait.arrived.begin(), wait.arrived.end(), false);
  return static_cast<std::size_t>(gap - wait.arrived.begin());
}

}  // namespace fulcrum::replay
