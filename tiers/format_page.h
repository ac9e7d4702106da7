// What the pages of a store have in common: 8 bytes of magic or the like, then the checksum of the page with
// the checksum's own field left out. Used by the format's own files only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/checksum.h"

namespace fulcrum {

inline constexpr std::size_t kSumOffset = 8;
inline constexpr std::size_t kSumEnd = 16;

/// The field's own 8 bytes are left out: the seed of the rest is the sum of what is before it.
[[nodiscard]] inline std::uint64_t page_sum(std::span<const std::byte> page, std::uint64_t seed = 0) {
  return hash64(page.subspan(kSumEnd), hash64(page.first(kSumOffset), seed));
}

inline void seal_page(std::span<std::byte> page, std::uint64_t seed = 0) {
  const std::uint64_t sum = page_sum(page, seed);
  std::memcpy(page.data() + kSumOffset, &sum, sizeof sum);
}

[[nodiscard]] inline bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace fulcrum
