#include "tiers/uring.h"

#include "base/errors.h"

#ifdef FULCRUM_HAVE_URING
#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tiers/registered_region.h"
#include "tiers/transfer.h"

namespace fulcrum {
namespace {

// Requests handed to the kernel together: a system call for each costs a quarter of the rate of 4 KiB reads.
constexpr unsigned kBatch = 16;
// While the kernel has no resources for what is queued, how long to wait between attempts.
constexpr Seconds kResubmitPause = Seconds(1e-3);
// A completion of none of our requests: that of a cancellation.
constexpr __u64 kNobody = ~__u64{1};

__kernel_timespec timespec_of(Seconds wait) {
  constexpr double kDay = 86400;
  const double bounded = std::clamp(wait.value(), 0.0, kDay);
  const double whole = std::floor(bounded);
  return {static_cast<long long>(whole), static_cast<long long>((bounded - whole) * 1e9)};
}

class UringEngine final : public IoEngine {
 public:
  UringEngine(std::shared_ptr<const ScratchFile> file, const UringOptions& options)
      : file_(std::move(file)),
        close_limit_(options.close_limit),
        step_(file_->direct() ? file_->alignment() : 1),
        slots_(options.depth_max) {
    for (std::size_t slot = slots_.size(); slot > 0; --slot) free_.push_back(slot - 1);
  }
  ~UringEngine() override;

  Result<void> open();
  Result<void> start(const IoRequest& request) override;
  Result<std::size_t> collect(std::span<IoCompletion> out, Seconds wait) override;
  Result<void> register_buffers(std::span<std::byte> region) override;

 private:
  int set_up_ring();
  void queue(std::size_t slot);
  void flush();
  std::size_t reap(std::span<IoCompletion> out);
  void flush_and_wait(Seconds wait);
  void drain(Seconds limit);
  [[nodiscard]] std::size_t in_flight() const { return slots_.size() - free_.size(); }

  std::shared_ptr<const ScratchFile> file_;
  Seconds close_limit_;
  std::size_t step_;
  io_uring ring_{};
  bool ring_open_ = false;
  bool file_registered_ = false;
  RegisteredRegion registered_;
  std::vector<Transfer> slots_;
  std::vector<std::size_t> free_;
  int broken_ = 0;  ///< errno after which the ring takes nothing more
};

UringEngine::~UringEngine() {
  if (!ring_open_) return;
  drain(close_limit_);
  if (in_flight() > 0 && broken_ == 0) {
    if (io_uring_sqe* sqe = io_uring_get_sqe(&ring_)) {
      io_uring_prep_cancel64(sqe, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
      sqe->user_data = kNobody;
      drain(Seconds(0.2));
    }
  }
  io_uring_queue_exit(&ring_);
}

int UringEngine::set_up_ring() {
  // COOP_TASKRUN: completions wait for our next call rather than interrupt the thread; TASKRUN_FLAG lets
  // a peek see that some wait. SINGLE_ISSUER is left out: it would tie the device to one thread for life.
  constexpr std::array<unsigned, 2> kFlagSets = {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0U};
  int code = 0;
  for (const unsigned flags : kFlagSets) {
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CLAMP;
    // Four more than the depth: for the cancellation at the end and the timeouts of kernels before 5.11.
    code = -io_uring_queue_init_params(static_cast<unsigned>(slots_.size() + 4), &ring_, &params);
    if (code != EINVAL) break;
  }
  return code;
}

Result<void> UringEngine::open() {
  if (const int code = set_up_ring(); code != 0) {
    Error error = os_error(code, "set up io_uring for", file_->directory());
    if (code == EPERM) {
      error.next_step = "allow it (sysctl kernel.io_uring_disabled=0, and the container's seccomp profile)";
    }
    return error;
  }
  ring_open_ = true;
  io_uring_probe* probe = io_uring_get_probe_ring(&ring_);
  const bool able = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_READ) != 0 &&
                    io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0;
  io_uring_free_probe(probe);
  if (!able) return os_error(ENOSYS, "read and write through io_uring in", file_->directory());
  const int descriptor = file_->descriptor();
  file_registered_ = io_uring_register_files(&ring_, &descriptor, 1) == 0;
  return {};
}

void UringEngine::queue(std::size_t slot) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  FULCRUM_CHECK(sqe != nullptr, "the ring has an entry for each slot");
  const Transfer& transfer = slots_[slot];
  const std::span<std::byte> rest =
      transfer.rest().first(std::min(transfer.rest().size(), RegisteredRegion::kPiece));
  const auto size = static_cast<unsigned>(rest.size());
  const auto offset = static_cast<__u64>(transfer.rest_offset());
  const int descriptor = file_registered_ ? 0 : file_->descriptor();
  const int piece = registered_.piece_of(rest);
  if (transfer.kind() == IoKind::read) {
    if (piece >= 0) {
      io_uring_prep_read_fixed(sqe, descriptor, rest.data(), size, offset, piece);
    } else {
      io_uring_prep_read(sqe, descriptor, rest.data(), size, offset);
    }
  } else if (piece >= 0) {
    io_uring_prep_write_fixed(sqe, descriptor, rest.data(), size, offset, piece);
  } else {
    io_uring_prep_write(sqe, descriptor, rest.data(), size, offset);
  }
  if (file_registered_) sqe->flags |= IOSQE_FIXED_FILE;
  sqe->user_data = slot;
}

/// Hands the queued entries to the kernel. What it has no resources for stays queued for the next call.
void UringEngine::flush() {
  while (broken_ == 0 && io_uring_sq_ready(&ring_) > 0) {
    const int answer = io_uring_submit(&ring_);
    if (answer == -EINTR) continue;
    if (answer == 0 || answer == -EAGAIN || answer == -EBUSY) return;
    if (answer < 0) broken_ = -answer;
  }
}

Result<void> UringEngine::start(const IoRequest& request) {
  if (broken_ == 0) {
    FULCRUM_CHECK(!free_.empty(), "the device limits the depth");
    const std::size_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = Transfer(request, step_, clock_.now());
    queue(slot);
    if (io_uring_sq_ready(&ring_) >= kBatch) flush();
    if (broken_ == 0) return {};
    free_.push_back(slot);
  }
  return os_error(broken_, "submit to io_uring for", file_->directory());
}

std::size_t UringEngine::reap(std::span<IoCompletion> out) {
  std::array<io_uring_cqe*, 64> batch{};
  std::size_t count = 0;
  while (count < out.size()) {
    const auto room = static_cast<unsigned>(std::min(batch.size(), out.size() - count));
    const unsigned found = io_uring_peek_batch_cqe(&ring_, batch.data(), room);
    if (found == 0) break;
    const Seconds now = clock_.now();
    for (unsigned i = 0; i < found; ++i) {
      // Not a slot: the timeout of a wait on an old kernel, or a cancellation.
      if (batch[i]->user_data >= slots_.size()) continue;
      const auto slot = static_cast<std::size_t>(batch[i]->user_data);
      Transfer& transfer = slots_[slot];
      if (transfer.advance(batch[i]->res) == Transfer::Next::again) {
        queue(slot);
        continue;
      }
      resumed_ += transfer.resumed();
      out[count++] = transfer.completion(now, file_->directory());
      free_.push_back(slot);
    }
    io_uring_cq_advance(&ring_, found);
  }
  return count;
}

/// Hands over what is queued and waits for one completion, in one system call.
void UringEngine::flush_and_wait(Seconds wait) {
  io_uring_cqe* first = nullptr;
  __kernel_timespec limit = timespec_of(wait);
  const int answer = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr);
  if (answer >= 0 || answer == -ETIME || answer == -EINTR) return;
  if (answer == -EAGAIN || answer == -EBUSY) {
    clock_.sleep(std::min(wait, kResubmitPause));
  } else {
    broken_ = -answer;
  }
}

Result<std::size_t> UringEngine::collect(std::span<IoCompletion> out, Seconds wait) {
  const Seconds deadline = clock_.now() + wait;
  for (Seconds left = wait;; left = deadline - clock_.now()) {
    std::size_t count = reap(out);
    if (count > 0 || left <= Seconds(0)) flush();
    if (count == 0 && left <= Seconds(0)) count = reap(out);  // the hand-over may have brought some
    if (count > 0) return count;
    if (broken_ != 0) return os_error(broken_, "collect from io_uring for", file_->directory());
    if (left <= Seconds(0)) return std::size_t{0};
    flush_and_wait(left);
  }
}

void UringEngine::drain(Seconds limit) {
  std::array<IoCompletion, 16> ignored;
  const Seconds deadline = clock_.now() + limit;
  while (in_flight() > 0 && broken_ == 0) {
    const Seconds left = deadline - clock_.now();
    if (left <= Seconds(0) || collect(ignored, left).has_error()) return;
  }
}

Result<void> UringEngine::register_buffers(std::span<std::byte> region) {
  if (!registered_.empty()) io_uring_unregister_buffers(&ring_);
  registered_ = {};
  if (region.empty()) return {};
  const RegisteredRegion wanted(region);
  std::vector<iovec> pieces;
  for (const std::span<std::byte> piece : wanted.pieces()) pieces.push_back({piece.data(), piece.size()});
  const int answer = io_uring_register_buffers(&ring_, pieces.data(), static_cast<unsigned>(pieces.size()));
  if (answer < 0) return os_error(-answer, "register buffers", file_->directory());
  registered_ = wanted;
  return {};
}

}  // namespace

Result<std::unique_ptr<IoEngine>> make_uring_engine(std::shared_ptr<const ScratchFile> file,
                                                    const UringOptions& options) {
  auto engine = std::make_unique<UringEngine>(std::move(file), options);
  if (Result<void> opened = engine->open(); opened.has_error()) return opened.error();
  return std::unique_ptr<IoEngine>(std::move(engine));
}

}  // namespace fulcrum

#endif  // FULCRUM_HAVE_URING
