// Short words for tests that open a FileDevice where something is wrong, often in a child process.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tiers/file_device.h"

// Children cannot skip a test; they say why it should be.
#define FULCRUM_SKIP_IF_TOLD(text) \
  if ((text).starts_with("skip: ")) GTEST_SKIP() << (text).substr(6)

namespace fulcrum::test {

/// One transfer and its end; a refused request ends with its refusal.
inline IoCompletion run(Device& device, IoKind kind, std::int64_t offset, std::span<std::byte> buffer) {
  IoCompletion completion;
  const Result<void> started = device.submit({kind, offset, buffer, 1});
  if (started.has_error()) {
    completion.result = started.error();
    return completion;
  }
  const auto count = device.poll({&completion, 1}, Seconds(20));
  EXPECT_TRUE(count.has_value() && *count == 1) << "no completion";
  return completion;
}

/// The message of an open that must fail with this kind, or what happened instead.
inline std::string message_of(const std::string& directory, const FileDeviceOptions& wanted,
                              ErrorKind expected) {
  const auto opened = FileDevice::open(directory, wanted);
  if (opened.has_value()) return "opened";
  if (opened.error().kind != expected) return "wrong kind: " + opened.error().message();
  return opened.error().message();
}

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A second descriptor of the device's unnamed file, found as anyone with enough rights would find it.
inline int second_descriptor(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    if (std::filesystem::read_symlink(entry.path(), failed).string().starts_with(directory + "/")) {
      return open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    }
  }
  return -1;
}

}  // namespace fulcrum::test
