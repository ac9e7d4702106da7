#include "tiers/uring_bare_loop.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <span>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"
#include "tiers/uring_bare_ring.h"

namespace fulcrum {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kDepthMost = 256;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

int open_file(const std::string& path, bool& direct) {
  int file = direct ? ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC) : -1;
  if (file < 0 && (!direct || errno == EINVAL)) {
    direct = false;
    file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  return file;
}

std::vector<BareTransfer> cut(const std::vector<BareRange>& ranges, std::int64_t io_size) {
  std::vector<BareTransfer> transfers;
  for (const BareRange& range : ranges) {
    for (std::int64_t done = 0; done < range.bytes; done += io_size) {
      transfers.push_back({static_cast<int>(range.file), range.offset + done,
                           static_cast<std::size_t>(std::min(io_size, range.bytes - done))});
    }
  }
  return transfers;
}

/// An errno, or 0.
int move_one(int file, const BareTransfer& transfer, std::byte* buffer, bool writes) {
  std::size_t done = 0;
  while (done < transfer.bytes) {
    const auto at = static_cast<off_t>(transfer.offset) + static_cast<off_t>(done);
    const ssize_t count = writes ? pwrite(file, buffer + done, transfer.bytes - done, at)
                                 : pread(file, buffer + done, transfer.bytes - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    done += static_cast<std::size_t>(count);
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<BareLoop>> BareLoop::open(const std::vector<std::string>& paths, Bytes most) {
  std::unique_ptr<BareLoop> loop(new BareLoop());
  bool direct = true;
  for (const std::string& path : paths) {
    const int file = open_file(path, direct);
    if (file < 0) return os_error(errno, "open", path);
    loop->files_.push_back(file);
  }
  const auto size = static_cast<std::size_t>(most.value());
  auto pages = AlignedBuffer::allocate(size + kHugePage);
  if (pages.has_error()) return pages.error();
  loop->pages_ = std::move(*pages);
  // Large pages make few, long DMA segments: the engine's rows have them too. No obstacle where refused.
  [[maybe_unused]] const int advised = madvise(loop->pages_.data(), loop->pages_.size(), MADV_HUGEPAGE);
  const std::size_t skip =
      (kHugePage - reinterpret_cast<std::uintptr_t>(loop->pages_.data()) % kHugePage) % kHugePage;
  loop->memory_ = loop->pages_.span().subspan(skip, size);
  Random(kSeed).fill(loop->memory_);
  auto ring = make_bare_ring(loop->files_, loop->memory_);
  if (!ring.has_error()) loop->ring_ = std::move(*ring);
  loop->description_ = loop->ring_ ? "io_uring" : "threads (" + ring.error().detail + ")";
  loop->description_ += direct ? ", O_DIRECT" : ", through the page cache";
  if (loop->ring_ && loop->ring_->registered()) loop->description_ += ", registered buffers";
  return loop;
}

BareLoop::~BareLoop() {
  ring_.reset();
  for (const int file : files_) close(file);
}

Result<void> BareLoop::read(const std::vector<BareRange>& ranges, const BareSetting& setting) {
  return run(ranges, setting, false);
}

Result<void> BareLoop::write(const std::vector<BareRange>& ranges, const BareSetting& setting) {
  return run(ranges, setting, true);
}

Result<void> BareLoop::run(const std::vector<BareRange>& ranges, const BareSetting& setting, bool writes) {
  const auto io_size = static_cast<std::size_t>(setting.io_size.value());
  FULCRUM_CHECK(io_size > 0 && io_size <= memory_.size(), "a setting within what was allowed at the start");
  const std::size_t depth = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(setting.depth, 1)), 1,
                                                    std::min(memory_.size() / io_size, kDepthMost));
  const std::vector<BareTransfer> transfers = cut(ranges, setting.io_size.value());
  if (ring_) return ring_->move(transfers, io_size, depth, writes);

  std::atomic<std::size_t> next = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (std::size_t slot = 0; slot < depth; ++slot) {
    threads.emplace_back([&, slot] {
      for (std::size_t i = next++; i < transfers.size() && failed == 0; i = next++) {
        const int file = files_[static_cast<std::size_t>(transfers[i].file)];
        const int code = move_one(file, transfers[i], memory_.data() + slot * io_size, writes);
        if (code != 0) failed = code;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed != 0) return os_error(failed, writes ? "write" : "read", "bare loop");
  return {};
}

}  // namespace fulcrum
