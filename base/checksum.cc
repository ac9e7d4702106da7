#include "base/checksum.h"

#ifdef FULCRUM_HAVE_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>  // the same values, by the widest vectors that the processor has
#else
#include <xxhash.h>
#endif

namespace fulcrum {

std::uint64_t hash64(std::span<const std::byte> data, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

std::uint64_t hash64(std::string_view text, std::uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

Hash128 hash128(std::span<const std::byte> data, std::uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(data.data(), data.size(), seed);
  return {hash.high64, hash.low64};
}

}  // namespace fulcrum
