// RawIo: the system calls of the thread engine, as a seam for tests that need them to fail or fall short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fulcrum {

class RawIo {
 public:
  RawIo() = default;
  virtual ~RawIo() = default;
  RawIo(const RawIo&) = delete;
  RawIo& operator=(const RawIo&) = delete;

  /// Bytes moved, or a negative errno. Called by several threads at once.
  virtual std::int64_t read(int descriptor, std::span<std::byte> buffer, std::int64_t offset);
  virtual std::int64_t write(int descriptor, std::span<const std::byte> buffer, std::int64_t offset);
  /// 0, or a negative errno.
  virtual std::int64_t allocate(int descriptor, std::int64_t offset, std::int64_t length);
  virtual std::int64_t sync(int descriptor);
};

}  // namespace fulcrum
