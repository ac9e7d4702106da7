// The kernel's side of the io_uring engine: opening a ring, and writing a transfer into one of its entries.
#pragma once

#include "tiers/file_set.h"
#include "tiers/registered_region.h"
#include "tiers/transfer.h"

struct io_uring;
struct io_uring_sqe;

namespace fulcrum {

/// An errno, or 0.
[[nodiscard]] int open_ring(io_uring& ring, unsigned entries);
/// Whether this kernel's ring reads, writes, allocates and syncs.
[[nodiscard]] bool ring_can_move(io_uring& ring);
/// What is left of a transfer, at its place. `files_registered`: the ring knows the files by their index.
void prepare(io_uring_sqe& entry, const Transfer& transfer, const FileSet::Place& place,
             bool files_registered, const RegisteredRegion& memory);

}  // namespace fulcrum
