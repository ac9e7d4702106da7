#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace fulcrum {

void check_failed(const char* file, int line, const char* condition, std::string_view note) {
  std::fprintf(stderr, "fulcrum: check failed at %s:%d: %s: %.*s\n", file, line, condition,
               static_cast<int>(note.size()), note.data());
  std::abort();
}

}  // namespace fulcrum
