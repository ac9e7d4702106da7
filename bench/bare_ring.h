// The leanest io_uring read loop that we can write: what FileDevice is measured against.
#pragma once

#include <liburing.h>

#include <array>
#include <cerrno>
#include <span>
#include <stdexcept>
#include <string>

#include "tiers/aligned_buffer.h"

namespace fulcrum::bench {

/// Ends the benchmark; main prints why.
[[noreturn]] inline void stop(const std::string& why) {
  throw std::runtime_error(why);
}

/// One buffer for each request in flight, cut from one region.
inline std::span<std::byte> slot_of(AlignedBuffer& memory, std::size_t io_size, std::size_t slot) {
  return memory.span().subspan(slot * io_size, io_size);
}

class BareRing {
 public:
  BareRing(int file, std::span<std::byte> memory) {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    int answer = io_uring_queue_init_params(128, &ring_, &params);
    if (answer == -EINVAL) answer = io_uring_queue_init(128, &ring_, 0);
    if (answer != 0) stop("io_uring is refused here; there is nothing to compare with");
    const iovec region{memory.data(), memory.size()};
    if (io_uring_register_files(&ring_, &file, 1) != 0 ||
        io_uring_register_buffers(&ring_, &region, 1) != 0) {
      stop("cannot register file and buffers (ulimit -l)");
    }
  }
  ~BareRing() { io_uring_queue_exit(&ring_); }
  BareRing(const BareRing&) = delete;
  BareRing& operator=(const BareRing&) = delete;

  void read(AlignedBuffer& memory, std::size_t io_size, std::size_t depth,
            std::span<const std::int64_t> offsets) {
    std::array<io_uring_cqe*, 64> done{};
    std::size_t next = 0;
    std::size_t in_flight = 0;
    const auto start = [&](std::size_t slot) {
      io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
      io_uring_prep_read_fixed(sqe, 0, slot_of(memory, io_size, slot).data(), static_cast<unsigned>(io_size),
                               static_cast<__u64>(offsets[next++]), 0);
      sqe->flags |= IOSQE_FIXED_FILE;
      sqe->user_data = slot;
      ++in_flight;
    };
    for (std::size_t slot = 0; slot < depth && next < offsets.size(); ++slot) start(slot);
    while (in_flight > 0) {
      if (io_uring_submit_and_wait(&ring_, 1) < 0) stop("io_uring_submit_and_wait failed");
      const unsigned count = io_uring_peek_batch_cqe(&ring_, done.data(), done.size());
      for (unsigned i = 0; i < count; ++i) {
        if (done[i]->res != static_cast<int>(io_size)) stop("a short or failed read in the bare loop");
        --in_flight;
        if (next < offsets.size()) start(done[i]->user_data);
      }
      io_uring_cq_advance(&ring_, count);
    }
  }

 private:
  io_uring ring_{};
};

}  // namespace fulcrum::bench
