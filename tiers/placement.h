// Placement: which member of a striped tier new blocks belong to. Pure; the same on every host.
//
// Weighted rendezvous hashing: for a key, member i scores w_i / -ln(u_i) with u_i in (0, 1) from a hash of
// key and member, and the highest score wins. Members get keys in proportion to their weights. A member that
// comes takes its share from all others alike, one that goes leaves its share to all of them, and no key
// moves between those that stay. (Thaler and Ravishankar 1998; the weights: Schindelhauer and Schomaker
// 2005.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fulcrum/key.h"

namespace fulcrum {

/// What a member's keys hang on: its name, and nothing that changes with the order of members.
[[nodiscard]] std::uint64_t placement_id(std::string_view name);

struct PlacementMember {
  std::uint64_t id = 0;  ///< placement_id() of its name
  double weight = 1;     ///< its share, in any unit; 0 or less: it gets nothing
};

/// Index of the member that the key belongs to; nothing where no member has a weight.
[[nodiscard]] std::optional<std::size_t> place(const BlockKey& key, std::span<const PlacementMember> members);

/// Homes of consecutive blocks of one chain, of which the first stands at position `first`. All blocks of a
/// stripe (`stripe_blocks` positions of the chain, counted from its begin) have the home of its first key;
/// where the stripe began before these blocks, `begun` or the home of the first key here. Nothing where no
/// member has a weight.
[[nodiscard]] std::vector<std::optional<std::size_t>> place_stripes(std::uint32_t first,
                                                                    std::span<const BlockKey> keys,
                                                                    std::size_t stripe_blocks,
                                                                    std::optional<std::size_t> begun,
                                                                    std::span<const PlacementMember> members);

}  // namespace fulcrum
