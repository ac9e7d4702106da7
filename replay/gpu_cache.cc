#include "replay/gpu_cache.h"

#include <algorithm>

namespace fulcrum::replay {

std::size_t GpuCache::leading(std::span<const BlockKey> chain) const {
  const auto absent = [this](const BlockKey& key) { return !slots_.contains(key); };
  return static_cast<std::size_t>(std::find_if(chain.begin(), chain.end(), absent) - chain.begin());
}

void GpuCache::insert(std::span<const BlockKey> chain) {
  const auto kept = chain.first(std::min(chain.size(), capacity_));
  for (auto key = kept.rbegin(); key != kept.rend(); ++key) touch(*key);
}

void GpuCache::touch(const BlockKey& key) {
  if (const auto found = slots_.find(key); found != slots_.end()) {
    unlink(found->second);
    link_newest(found->second);
    return;
  }
  std::uint32_t slot = 0;
  if (slots_.size() < capacity_) {
    slot = static_cast<std::uint32_t>(ring_.size());
    ring_.emplace_back();
  } else {
    slot = ring_[kHead].newer;
    slots_.erase(ring_[slot].key);
    unlink(slot);
  }
  ring_[slot].key = key;
  link_newest(slot);
  slots_.emplace(key, slot);
}

void GpuCache::link_newest(std::uint32_t slot) {
  const std::uint32_t second = ring_[kHead].older;
  ring_[slot].newer = kHead;
  ring_[slot].older = second;
  ring_[second].newer = slot;
  ring_[kHead].older = slot;
}

void GpuCache::unlink(std::uint32_t slot) {
  const Slot entry = ring_[slot];
  ring_[entry.newer].older = entry.older;
  ring_[entry.older].newer = entry.newer;
}

}  // namespace fulcrum::replay
