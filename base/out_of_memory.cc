#include "base/out_of_memory.h"

#include <cstdio>
#include <cstdlib>

namespace fulcrum {

void stop_without_memory(const char* where) noexcept {
  std::fprintf(
      stderr,
      "fulcrum: out of memory in %s: the process stops, since what it was doing is half done. What "
      "the file tiers hold is safe. Give the process more memory, or lower the policy's capacities\n",
      where);
  std::abort();
}

}  // namespace fulcrum
