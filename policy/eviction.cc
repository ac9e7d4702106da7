#include "policy/eviction.h"

namespace fulcrum {

void EvictionOrder::set(NodeId node, double worth) {
  std::size_t at = slot(node);
  if (at == kNoSlot) {
    at = heap_.size();
    heap_.emplace_back();
  }
  put(at, Entry{worth, node});
  rise(at);
  sink(slot(node));
}

void EvictionOrder::remove(NodeId node) {
  const std::size_t at = slot(node);
  if (at == kNoSlot) return;
  slot(node) = kNoSlot;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.node == node) return;
  put(at, last);
  rise(at);
  sink(slot(last.node));
}

void EvictionOrder::put(std::size_t at, Entry entry) {
  heap_[at] = entry;
  slot(entry.node) = static_cast<std::uint32_t>(at);
}

void EvictionOrder::rise(std::size_t at) {
  const Entry entry = heap_[at];
  while (at > 0 && entry.before(heap_[(at - 1) / 2])) {
    put(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put(at, entry);
}

void EvictionOrder::sink(std::size_t at) {
  const Entry entry = heap_[at];
  while (2 * at + 1 < heap_.size()) {
    std::size_t child = 2 * at + 1;
    if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
    if (!heap_[child].before(entry)) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, entry);
}

}  // namespace fulcrum
