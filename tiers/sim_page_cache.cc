#include "tiers/sim_page_cache.h"

#include <algorithm>

namespace fulcrum {
namespace {

constexpr std::int64_t kChunk = 64 << 10;

std::int64_t first_chunk(std::int64_t offset) {
  return offset / kChunk;
}
std::int64_t end_chunk(std::int64_t offset, std::size_t size) {
  return (offset + static_cast<std::int64_t>(size) + kChunk - 1) / kChunk;
}

}  // namespace

bool SimPageCache::holds(std::int64_t offset, std::size_t size) const {
  if (capacity_ == Bytes(0)) return false;
  for (std::int64_t chunk = first_chunk(offset); chunk < end_chunk(offset, size); ++chunk) {
    if (place_.count(chunk) == 0) return false;
  }
  return true;
}

void SimPageCache::touch(std::int64_t offset, std::size_t size) {
  if (capacity_ == Bytes(0)) return;
  for (std::int64_t chunk = first_chunk(offset); chunk < end_chunk(offset, size); ++chunk) {
    if (const auto known = place_.find(chunk); known != place_.end()) recent_.erase(known->second);
    recent_.push_front(chunk);
    place_[chunk] = recent_.begin();
  }
  const auto limit = static_cast<std::size_t>(capacity_.value() / kChunk);
  while (recent_.size() > limit) {
    place_.erase(recent_.back());
    recent_.pop_back();
  }
}

void SimPageCache::clear() {
  recent_.clear();
  place_.clear();
}

double SimPageCache::resident_share() const {
  const double bytes = static_cast<double>(recent_.size()) * static_cast<double>(kChunk);
  return std::min(1.0, bytes / static_cast<double>(device_size_.value()));
}

}  // namespace fulcrum
