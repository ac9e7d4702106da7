// IoEngine: how a FileDevice moves bytes. Two of them: io_uring (uring.h) and threads (thread_engine.h).
//
// The device above has checked each request and limits their number; an engine resumes short transfers
// (transfer.h) and reports each request once. Its destructor waits for what is in flight up to its limit,
// then cancels. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.h"
#include "tiers/device.h"

namespace fulcrum {

class IoEngine {
 public:
  virtual ~IoEngine() = default;
  IoEngine(const IoEngine&) = delete;
  IoEngine& operator=(const IoEngine&) = delete;

  /// Kinds: busy (no resources now), device (the engine is broken).
  virtual Result<void> start(const IoRequest& request) = 0;
  /// As Device::poll.
  virtual Result<std::size_t> collect(std::span<IoCompletion> out, Seconds wait) = 0;
  /// As Device::wake.
  virtual void wake() = 0;
  /// As FileDevice::register_buffers.
  virtual Result<void> register_buffers(std::span<std::byte> region) = 0;
  /// Short transfers continued so far, of requests that were reported.
  [[nodiscard]] std::uint64_t resumed() const { return resumed_; }

 protected:
  IoEngine() = default;
  std::uint64_t resumed_ = 0;
  SteadyClock clock_;
};

}  // namespace fulcrum
