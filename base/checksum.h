// Checksums and fingerprints (xxHash XXH3). The only file that knows xxHash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fulcrum {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Hash128&) const = default;
};

[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> data, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0);
[[nodiscard]] Hash128 hash128(std::span<const std::byte> data, std::uint64_t seed = 0);

}  // namespace fulcrum
