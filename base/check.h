// FULCRUM_CHECK: programmer errors stop the program, in every build, with file, line and values.
#pragma once

#include <string_view>

namespace fulcrum {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view note);

}  // namespace fulcrum

#define FULCRUM_CHECK(condition, note) \
  (static_cast<bool>(condition) ? void() : ::fulcrum::check_failed(__FILE__, __LINE__, #condition, (note)))
