// Memory that runs out at a chosen allocation: failing_new.cc replaces operator new for the whole program.
//
// Counts and fails only between fail_at() and fail_never(), and only in threads that are not spared. The
// test spares its own thread except inside Exposed: what fails is the library, not the test.
#pragma once

#include <cstdint>

namespace fulcrum::test {

/// The n-th allocation from now on fails, n > 0; with `for_good` so do all behind it.
void fail_at(std::uint64_t n, bool for_good);
/// Returns how many were counted.
std::uint64_t fail_never();
/// Allocations of the whole program that have not been given back.
[[nodiscard]] std::int64_t allocations_alive();

/// The calling thread is spared from now on.
void spare_this_thread();
/// Whether only what is inside Exposed counts, not the threads of the library.
void fail_callers_only(bool only);
class Exposed {
 public:
  Exposed();
  ~Exposed();
  Exposed(const Exposed&) = delete;
  Exposed& operator=(const Exposed&) = delete;
};

}  // namespace fulcrum::test
