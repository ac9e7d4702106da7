// The contract of Device. An implementation joins with one line in its own test file:
//
//   INSTANTIATE_TEST_SUITE_P(MyDevice, DeviceContract, testing::Values(DeviceFactory{"plain", make_mine}),
//                            factory_name);
//
// The device made must have at least 1 MiB, a depth of 4 to 64, and files of at least 64 KiB and a multiple
// of 16 KiB. Where this machine cannot make it (io_uring forbidden, no direct I/O), the tests are skipped
// with the reason.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tiers/aligned_buffer.h"
#include "tiers/device.h"

namespace fulcrum::test {

struct DeviceFactory {
  std::string name;
  std::function<Result<std::unique_ptr<Device>>()> make;
};

inline void PrintTo(const DeviceFactory& factory, std::ostream* out) {
  *out << factory.name;
}
inline std::string factory_name(const testing::TestParamInfo<DeviceFactory>& info) {
  return info.param.name;
}

class DeviceContract : public testing::TestWithParam<DeviceFactory> {
 protected:
  void SetUp() override;
  [[nodiscard]] IoRequest request(IoKind kind, std::int64_t offset, std::span<std::byte> buffer,
                                  std::uint64_t tag = 0) const {
    return {kind, offset, buffer, tag};
  }
  /// A zeroed buffer of so many aligned blocks.
  [[nodiscard]] AlignedBuffer blocks(std::size_t count) const;
  [[nodiscard]] std::int64_t block_offset(std::int64_t block) const {
    return block * static_cast<std::int64_t>(alignment_);
  }
  /// Submits one request and waits for its completion.
  IoCompletion run(const IoRequest& asked);
  /// Waits until everything in flight has ended.
  void drain();

  std::unique_ptr<Device> device_;
  std::size_t alignment_ = 0;
};

}  // namespace fulcrum::test
