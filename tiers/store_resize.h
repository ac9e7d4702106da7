// Another capacity for a store that is there: its segments keep their size, and there are more or fewer of
// them.
//
// The journal's halves may have to move, when more segments need a larger head, and a crash must find a
// journal where the superblock says that it is. It does: a start writes one checkpoint, to the half that is
// not in use, before a superblock points there. With the larger head, half 1 begins behind the old half 0;
// and half 0 begins where it was, and a checkpoint of what the old store held does not reach beyond its old
// end.
#pragma once

#include <optional>
#include <string>

#include "fulcrum/key.h"
#include "tiers/file_layout.h"
#include "tiers/format.h"

namespace fulcrum {

/// The newest superblock in the directory; nothing where there is none that is valid. Takes no lock: what it
/// says is checked again by whoever opens the store.
[[nodiscard]] std::optional<Superblock> peek_superblock(const std::string& directory);

struct ResizePlan {
  FileLayout from;
  FileLayout to;
};
/// How to open the store that `found` describes with this capacity. Nothing where it is not one of these
/// bytes: opening it will say so. Kinds: bad_input (the capacity does not fit its segments).
[[nodiscard]] Result<std::optional<ResizePlan>> plan_resize(const Superblock& found, const Namespace& name,
                                                            Bytes row_bytes, Bytes capacity);

/// Gives the space of segments beyond the layout back. Call it with the store held.
[[nodiscard]] Result<void> remove_beyond(const std::string& directory, std::uint32_t segments);

}  // namespace fulcrum
