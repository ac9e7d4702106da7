#include "tiers/uring_entry.h"

#ifdef FULCRUM_HAVE_URING
#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace fulcrum {
namespace {

void prepare_move(io_uring_sqe* entry, const Transfer& transfer, int file, std::int64_t offset,
                  const RegisteredRegion& memory) {
  const std::span<std::byte> rest =
      transfer.rest().first(std::min(transfer.rest().size(), RegisteredRegion::kPiece));
  const auto size = static_cast<unsigned>(rest.size());
  const auto at = static_cast<__u64>(offset);
  const int piece = memory.piece_of(rest);
  if (transfer.kind() == IoKind::read) {
    if (piece >= 0) {
      io_uring_prep_read_fixed(entry, file, rest.data(), size, at, piece);
    } else {
      io_uring_prep_read(entry, file, rest.data(), size, at);
    }
  } else if (piece >= 0) {
    io_uring_prep_write_fixed(entry, file, rest.data(), size, at, piece);
  } else {
    io_uring_prep_write(entry, file, rest.data(), size, at);
  }
}

}  // namespace

int open_ring(io_uring& ring, unsigned entries) {
  // COOP_TASKRUN: completions wait for our next call rather than interrupt the thread; TASKRUN_FLAG lets
  // a peek see that some wait. SINGLE_ISSUER is left out: it would tie the device to one thread for life.
  constexpr std::array<unsigned, 2> kFlagSets = {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0U};
  int code = 0;
  for (const unsigned flags : kFlagSets) {
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CLAMP;
    code = -io_uring_queue_init_params(entries, &ring, &params);
    if (code != EINVAL) break;
  }
  return code;
}

bool ring_can_move(io_uring& ring) {
  // All of the kernel's 5.6: there is no ring that knows some of them only.
  constexpr std::array kNeeded = {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_FALLOCATE, IORING_OP_FSYNC};
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  const bool able = probe != nullptr && std::ranges::all_of(kNeeded, [probe](int operation) {
                      return io_uring_opcode_supported(probe, operation) != 0;
                    });
  io_uring_free_probe(probe);
  return able;
}

void prepare(io_uring_sqe& entry, const Transfer& transfer, const FileSet::Place& place,
             bool files_registered, const RegisteredRegion& memory) {
  const int file = files_registered ? static_cast<int>(place.index) : place.descriptor;
  if (transfer.kind() == IoKind::sync) {
    io_uring_prep_fsync(&entry, file, IORING_FSYNC_DATASYNC);
  } else if (transfer.kind() == IoKind::allocate) {
    io_uring_prep_fallocate(&entry, file, 0, place.offset, transfer.length());
  } else {
    prepare_move(&entry, transfer, file, place.offset, memory);
  }
  if (files_registered) entry.flags |= IOSQE_FIXED_FILE;
}

}  // namespace fulcrum

#endif  // FULCRUM_HAVE_URING
