// SimPageCache: which bytes of a simulated device its page cache would hold. Least recently used goes first.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "fulcrum/units.h"

namespace fulcrum {

class SimPageCache {
 public:
  /// Holds up to `capacity` bytes of a device of `device_size` bytes, in pages of 16 KiB.
  SimPageCache(Bytes capacity, Bytes device_size) : capacity_(capacity), device_size_(device_size) {}

  /// All of [offset, offset + size) is there.
  [[nodiscard]] bool holds(std::int64_t offset, std::size_t size) const;
  void touch(std::int64_t offset, std::size_t size);
  void clear();
  /// Share of the device that is there, 0..1.
  [[nodiscard]] double resident_share() const;

 private:
  Bytes capacity_;
  Bytes device_size_;
  std::list<std::int64_t> recent_;  ///< page numbers, newest first
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> place_;
};

}  // namespace fulcrum
