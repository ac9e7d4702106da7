#include "tiers/placement.h"

#include <array>
#include <cmath>

#include "base/checksum.h"

namespace fulcrum {

std::uint64_t placement_id(std::string_view name) {
  return hash64(name);
}

std::optional<std::size_t> place(const BlockKey& key, std::span<const PlacementMember> members) {
  const std::array words{key.high, key.low};
  std::optional<std::size_t> best;
  double best_score = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].weight <= 0) continue;
    const std::uint64_t hash = hash64(std::as_bytes(std::span(words)), members[i].id);
    // The upper 53 bits, in the middle of their step: never 0 and never 1.
    const double u = (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
    const double score = members[i].weight / -std::log(u);
    if (best && score <= best_score) continue;
    best = i;
    best_score = score;
  }
  return best;
}

std::vector<std::optional<std::size_t>> place_stripes(std::uint32_t first, std::span<const BlockKey> keys,
                                                      std::size_t stripe_blocks,
                                                      std::optional<std::size_t> begun,
                                                      std::span<const PlacementMember> members) {
  std::vector<std::optional<std::size_t>> homes;
  homes.reserve(keys.size());
  std::optional<std::size_t> home = begun;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!home || (first + i) % stripe_blocks == 0) home = place(keys[i], members);
    homes.push_back(home);
  }
  return homes;
}

}  // namespace fulcrum
