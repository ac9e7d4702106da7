// The ring of the bare loop: a cut-up list of transfers, moved at one depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fulcrum/result.h"

namespace fulcrum {

/// One transfer of the loop.
struct BareTransfer {
  int file = 0;  ///< its index among the registered ones
  std::int64_t offset = 0;
  std::size_t bytes = 0;
};

class BareRing {
 public:
  virtual ~BareRing() = default;
  BareRing(const BareRing&) = delete;
  BareRing& operator=(const BareRing&) = delete;

  /// Slots of `slot_bytes` are cut from the memory that the ring was made with. Kinds: device.
  virtual Result<void> move(std::span<const BareTransfer> transfers, std::size_t slot_bytes,
                            std::size_t depth, bool writes) = 0;
  /// Whether the kernel took the memory as registered buffers.
  [[nodiscard]] virtual bool registered() const = 0;

 protected:
  BareRing() = default;
};

/// Kinds: permission (io_uring is switched off or forbidden), unsupported (no liburing in this build, or an
/// old kernel), no_memory.
[[nodiscard]] Result<std::unique_ptr<BareRing>> make_bare_ring(std::span<const int> files,
                                                               std::span<std::byte> memory);

}  // namespace fulcrum
