#include "tiers/sim_page_cache.h"

#include <algorithm>

namespace fulcrum {
namespace {

constexpr std::int64_t kPage = 16 << 10;

std::int64_t first_page(std::int64_t offset) {
  return offset / kPage;
}
std::int64_t end_page(std::int64_t offset, std::size_t size) {
  return (offset + static_cast<std::int64_t>(size) + kPage - 1) / kPage;
}

}  // namespace

bool SimPageCache::holds(std::int64_t offset, std::size_t size) const {
  if (capacity_ == Bytes(0)) return false;
  for (std::int64_t page = first_page(offset); page < end_page(offset, size); ++page) {
    if (place_.count(page) == 0) return false;
  }
  return true;
}

void SimPageCache::touch(std::int64_t offset, std::size_t size) {
  if (capacity_ == Bytes(0)) return;
  for (std::int64_t page = first_page(offset); page < end_page(offset, size); ++page) {
    if (const auto known = place_.find(page); known != place_.end()) recent_.erase(known->second);
    recent_.push_front(page);
    place_[page] = recent_.begin();
  }
  const auto limit = static_cast<std::size_t>(capacity_.value() / kPage);
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
  const double bytes = static_cast<double>(recent_.size()) * static_cast<double>(kPage);
  return std::min(1.0, bytes / static_cast<double>(device_size_.value()));
}

}  // namespace fulcrum
