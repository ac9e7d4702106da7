// SimSpace: what the filesystem of a simulated device has to give. Each byte is taken once.
#pragma once

#include <cstdint>
#include <optional>

#include "tiers/device.h"
#include "tiers/range_set.h"

namespace fulcrum {

class SimSpace {
 public:
  explicit SimSpace(std::optional<Bytes> limit = std::nullopt) : limit_(limit) {}

  /// Nothing: no limit. What was taken stays taken.
  void set_limit(std::optional<Bytes> limit) { limit_ = limit; }
  /// Takes what an allocation or a write needs. False where there is not enough: then nothing was taken.
  bool take(const IoRequest& request) {
    if (request.kind == IoKind::read || request.kind == IoKind::sync) return true;
    const std::int64_t end = request.offset + size_of(request);
    const std::int64_t more = ranges_.missing(request.offset, end);
    if (more > 0 && limit_ && ranges_.total() + more > limit_->value()) return false;
    ranges_.add(request.offset, end);
    return true;
  }
  [[nodiscard]] Bytes taken() const { return Bytes(ranges_.total()); }

 private:
  std::optional<Bytes> limit_;
  RangeSet ranges_;
};

}  // namespace fulcrum
