// Log lines for operators (spdlog behind it). They go to stderr, and nowhere until set_log_level() is called:
// a library does not write to its host's terminal unasked. Thread-safe.
#pragma once

#include <string_view>

namespace fulcrum {

enum class LogLevel { debug, info, warn, error, off };
void set_log_level(LogLevel level);
void log(LogLevel level, std::string_view message);

}  // namespace fulcrum
