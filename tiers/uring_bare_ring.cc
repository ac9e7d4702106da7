#include "tiers/uring_bare_ring.h"

#include "base/errors.h"

#ifdef FULCRUM_HAVE_URING
#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "tiers/registered_region.h"
#include "tiers/uring_entry.h"
#endif

namespace fulcrum {

#ifdef FULCRUM_HAVE_URING
namespace {

constexpr unsigned kEntries = 256;
constexpr std::size_t kReap = 64;

class UringBareRing final : public BareRing {
 public:
  explicit UringBareRing(std::span<std::byte> memory) : memory_(memory) {}
  ~UringBareRing() override {
    if (open_) io_uring_queue_exit(&ring_);
  }

  Result<void> begin(std::span<const int> files) {
    if (const int code = open_ring(ring_, kEntries); code != 0) {
      return os_error(code, "set up io_uring", "bare loop");
    }
    open_ = true;
    const auto count = static_cast<unsigned>(files.size());
    if (const int code = -io_uring_register_files(&ring_, files.data(), count); code != 0) {
      return os_error(code, "register files", "bare loop");
    }
    RegisteredRegion region(memory_);
    std::vector<iovec> pieces;
    for (const std::span<std::byte> piece : region.pieces()) pieces.push_back({piece.data(), piece.size()});
    registered_ = io_uring_register_buffers(&ring_, pieces.data(), static_cast<unsigned>(pieces.size())) == 0;
    if (registered_) region_ = region;
    return {};
  }

  Result<void> move(std::span<const BareTransfer> transfers, std::size_t slot_bytes, std::size_t depth,
                    bool writes) override {
    std::size_t next = 0;
    std::size_t in_flight = 0;
    std::vector<std::size_t> sizes(depth);
    std::array<io_uring_cqe*, kReap> done{};
    const auto start = [&](std::size_t slot) {
      const BareTransfer& transfer = transfers[next++];
      sizes[slot] = transfer.bytes;
      prepare_slot(transfer, slot, slot_bytes, writes);
      ++in_flight;
    };
    int failed = 0;
    while (in_flight < depth && next < transfers.size()) start(in_flight);
    while (in_flight > 0) {
      const int answer = io_uring_submit_and_wait(&ring_, 1);
      if (answer < 0 && answer != -EINTR) return os_error(-answer, "wait for io_uring", "bare loop");
      const unsigned count = io_uring_peek_batch_cqe(&ring_, done.data(), done.size());
      for (unsigned i = 0; i < count; ++i) {
        const auto slot = static_cast<std::size_t>(done[i]->user_data);
        const int got = done[i]->res;
        if (got < 0 && failed == 0) failed = -got;
        if (got >= 0 && static_cast<std::size_t>(got) != sizes[slot] && failed == 0) failed = EIO;
        --in_flight;
        if (failed == 0 && next < transfers.size()) start(slot);
      }
      io_uring_cq_advance(&ring_, count);
    }
    if (failed != 0) return os_error(failed, writes ? "write" : "read", "bare loop");
    return {};
  }
  [[nodiscard]] bool registered() const override { return registered_; }

 private:
  void prepare_slot(const BareTransfer& transfer, std::size_t slot, std::size_t slot_bytes, bool writes) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    const std::span<std::byte> buffer = memory_.subspan(slot * slot_bytes, transfer.bytes);
    const int piece = region_.piece_of(buffer);
    const auto size = static_cast<unsigned>(transfer.bytes);
    const auto at = static_cast<__u64>(transfer.offset);
    if (piece >= 0) {
      writes ? io_uring_prep_write_fixed(entry, transfer.file, buffer.data(), size, at, piece)
             : io_uring_prep_read_fixed(entry, transfer.file, buffer.data(), size, at, piece);
    } else {
      writes ? io_uring_prep_write(entry, transfer.file, buffer.data(), size, at)
             : io_uring_prep_read(entry, transfer.file, buffer.data(), size, at);
    }
    entry->flags |= IOSQE_FIXED_FILE;
    entry->user_data = slot;
  }

  std::span<std::byte> memory_;
  io_uring ring_{};
  bool open_ = false;
  bool registered_ = false;
  RegisteredRegion region_;
};

}  // namespace

Result<std::unique_ptr<BareRing>> make_bare_ring(std::span<const int> files, std::span<std::byte> memory) {
  auto ring = std::make_unique<UringBareRing>(memory);
  if (Result<void> begun = ring->begin(files); begun.has_error()) return begun.error();
  return std::unique_ptr<BareRing>(std::move(ring));
}

#else

Result<std::unique_ptr<BareRing>> make_bare_ring(std::span<const int> /*files*/,
                                                 std::span<std::byte> /*memory*/) {
  return make_error(ErrorKind::unsupported, "set up io_uring", "bare loop", "this build has no liburing",
                    "install liburing-dev and build again");
}

#endif  // FULCRUM_HAVE_URING

}  // namespace fulcrum
