#include "tests/engine/memory/failing_new.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> armed{false};
std::atomic<bool> stays{false};
std::atomic<std::uint64_t> target{0};
std::atomic<std::uint64_t> counted{0};
std::atomic<std::int64_t> alive{0};
std::atomic<bool> callers_only{false};
thread_local bool spared = false;
thread_local bool exposed = false;

bool fails() {
  if (!armed.load() || spared || (callers_only && !exposed)) return false;
  const std::uint64_t n = ++counted;
  return stays ? n >= target : n == target;
}

void* take(std::size_t size, std::size_t alignment) {
  if (fails()) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), size == 0 ? 1 : size) != 0) return nullptr;
  return memory;
}

void* taken(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  ++alive;
  return memory;
}

void give(void* memory) {
  if (memory != nullptr) --alive;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  return taken(take(size, alignof(std::max_align_t)));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return taken(take(size, static_cast<std::size_t>(alignment)));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  void* memory = take(size, alignof(std::max_align_t));
  if (memory != nullptr) ++alive;
  return memory;
}
void operator delete(void* memory) noexcept {
  give(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  give(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  give(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  give(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  give(memory);
}
// Boost.Asio takes the memory of what it queues from here.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return take(size, alignment);
}

namespace fulcrum::test {

void fail_at(std::uint64_t n, bool for_good) {
  counted = 0;
  target = n;
  stays = for_good;
  armed = true;
}

std::uint64_t fail_never() {
  armed = false;
  return counted;
}

std::int64_t allocations_alive() {
  return alive;
}

void spare_this_thread() {
  spared = true;
}
void fail_callers_only(bool only) {
  callers_only = only;
}
Exposed::Exposed() {
  spared = false;
  exposed = true;
}
Exposed::~Exposed() {
  exposed = false;
  spared = true;
}

}  // namespace fulcrum::test
