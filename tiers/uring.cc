#include "tiers/uring.h"

#include "base/errors.h"

#ifdef FULCRUM_HAVE_URING
#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tiers/registered_region.h"
#include "tiers/transfer.h"
#include "tiers/uring_entry.h"

namespace fulcrum {
namespace {

// Requests handed to the kernel together: a system call for each costs a quarter of the rate of 4 KiB reads.
constexpr unsigned kBatch = 16;
// While the kernel has no resources for what is queued, how long to wait between attempts.
constexpr Seconds kResubmitPause = Seconds(1e-3);
// Completions of none of our requests: of a cancellation, and of the wait for wake().
constexpr __u64 kNobody = ~__u64{1};
constexpr __u64 kWaker = ~__u64{2};

__kernel_timespec timespec_of(Seconds wait) {
  constexpr double kDay = 86400;
  const double bounded = std::clamp(wait.value(), 0.0, kDay);
  const double whole = std::floor(bounded);
  return {static_cast<long long>(whole), static_cast<long long>((bounded - whole) * 1e9)};
}

class UringEngine final : public IoEngine {
 public:
  UringEngine(std::shared_ptr<const FileSet> files, const UringOptions& options)
      : files_(std::move(files)),
        close_limit_(options.close_limit),
        step_(files_->direct() ? files_->alignment() : 1),
        slots_(options.depth_max) {
    for (std::size_t slot = slots_.size(); slot > 0; --slot) free_.push_back(slot - 1);
  }
  ~UringEngine() override;

  Result<void> open();
  Result<void> start(const IoRequest& request) override;
  Result<std::size_t> collect(std::span<IoCompletion> out, Seconds wait) override;
  void wake() override;
  Result<void> register_buffers(std::span<std::byte> region) override;

 private:
  void queue(std::size_t slot);
  void listen();
  void flush();
  std::size_t reap(std::span<IoCompletion> out);
  void flush_and_wait(Seconds wait);
  void drain(Seconds limit);
  [[nodiscard]] std::size_t in_flight() const { return slots_.size() - free_.size(); }

  std::shared_ptr<const FileSet> files_;
  Seconds close_limit_;
  std::size_t step_;
  io_uring ring_{};
  bool ring_open_ = false;
  bool files_registered_ = false;
  int waker_ = -1;          ///< an eventfd that wake() writes to
  bool listening_ = false;  ///< the ring watches it
  bool woken_ = false;
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
  if (waker_ >= 0) close(waker_);
}

Result<void> UringEngine::open() {
  // More than the depth: for the cancellation at the end, the waker, and timeouts of kernels before 5.11.
  if (const int code = open_ring(ring_, static_cast<unsigned>(slots_.size() + 6)); code != 0) {
    Error error = os_error(code, "set up io_uring for", files_->directory());
    if (code == EPERM) {
      error.next_step = "allow it (sysctl kernel.io_uring_disabled=0, and the container's seccomp profile)";
    }
    return error;
  }
  ring_open_ = true;
  waker_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (waker_ < 0) return os_error(errno, "make an eventfd for", files_->directory());
  if (!ring_can_move(ring_))
    return os_error(ENOSYS, "read, write, allocate and sync through io_uring in", files_->directory());
  const std::span<const int> files = files_->descriptors();
  files_registered_ = io_uring_register_files(&ring_, files.data(), static_cast<unsigned>(files.size())) == 0;
  return {};
}

void UringEngine::queue(std::size_t slot) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  FULCRUM_CHECK(sqe != nullptr, "the ring has an entry for each slot");
  const FileSet::Place place = files_->place_of(slots_[slot].rest_offset());
  prepare(*sqe, slots_[slot], place, files_registered_, registered_);
  sqe->user_data = slot;
}

void UringEngine::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = write(waker_, &one, sizeof one);  // a full counter is readable too
}

/// Has the ring watch the waker. Armed by the thread that waits, since the kernel tells the one that armed
/// it.
void UringEngine::listen() {
  if (listening_) return;
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  FULCRUM_CHECK(sqe != nullptr, "the ring has an entry for the waker");
  io_uring_prep_poll_add(sqe, waker_, POLLIN);
  sqe->user_data = kWaker;
  listening_ = true;
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
  return os_error(broken_, "submit to io_uring for", files_->directory());
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
      if (batch[i]->user_data == kWaker) {
        std::uint64_t times = 0;
        listening_ = false;
        woken_ = read(waker_, &times, sizeof times) > 0 || woken_;
      }
      // Not a slot: the waker, the timeout of a wait on an old kernel, or a cancellation.
      if (batch[i]->user_data >= slots_.size()) continue;
      const auto slot = static_cast<std::size_t>(batch[i]->user_data);
      Transfer& transfer = slots_[slot];
      if (transfer.advance(batch[i]->res) == Transfer::Next::again) {
        queue(slot);
        continue;
      }
      resumed_ += transfer.resumed();
      out[count++] = transfer.completion(now, *files_);
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
    if (count > 0 || std::exchange(woken_, false)) return count;
    if (broken_ != 0) return os_error(broken_, "collect from io_uring for", files_->directory());
    if (left <= Seconds(0)) return std::size_t{0};
    listen();
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
  if (answer < 0) return os_error(-answer, "register buffers", files_->directory());
  registered_ = wanted;
  return {};
}

}  // namespace

Result<std::unique_ptr<IoEngine>> make_uring_engine(std::shared_ptr<const FileSet> files,
                                                    const UringOptions& options) {
  auto engine = std::make_unique<UringEngine>(std::move(files), options);
  if (Result<void> opened = engine->open(); opened.has_error()) return opened.error();
  return std::unique_ptr<IoEngine>(std::move(engine));
}

}  // namespace fulcrum

#endif  // FULCRUM_HAVE_URING
