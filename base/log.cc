#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace fulcrum {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

std::unique_ptr<spdlog::logger> make_logger() {
  auto made = std::make_unique<spdlog::logger>("fulcrum", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n %l: %v");
  made->set_level(spdlog::level::off);
  return made;
}

/// The process has one stderr, hence one logger; it holds nothing that changes a result.
spdlog::logger& logger() {
  static const std::unique_ptr<spdlog::logger> instance = make_logger();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) {
  logger().set_level(to_spdlog(level));
}

void log(LogLevel level, std::string_view message) {
  logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace fulcrum
