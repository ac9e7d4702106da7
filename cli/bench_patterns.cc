#include "cli/bench_patterns.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <latch>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "base/errors.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum::cli {
namespace {

constexpr std::size_t kReaders = 4;
constexpr int kWrongBytes = -1;

}  // namespace

/// What the threads share.
struct FilePerBlock::Work {
  std::size_t per_request = 1;
  std::atomic<std::size_t> next = 0;
  std::atomic<int> failed = 0;  ///< an errno, or kWrongBytes
  Seconds start{};
  std::mutex mutex;
  std::vector<std::size_t> left;  ///< blocks of each request
  std::vector<Seconds> over;      ///< when a request had all of them
};

std::string FilePerBlock::path_of(std::size_t block) const {
  return directory_ + "/" + std::to_string(block);
}

Result<void> FilePerBlock::write_one(std::size_t block, std::span<std::byte> row) {
  const std::string path = path_of(block);
  const int flags = O_CREAT | O_WRONLY | O_CLOEXEC;
  int file = direct_ ? ::open(path.c_str(), flags | O_DIRECT, 0600) : -1;
  if (file < 0 && (!direct_ || errno == EINVAL)) {
    direct_ = false;
    file = ::open(path.c_str(), flags, 0600);
  }
  if (file < 0) return os_error(errno, "make", path);
  int code = 0;
  while (!row.empty() && code == 0) {
    const ssize_t count = ::write(file, row.data(), row.size());
    if (count < 0 && errno != EINTR) code = errno;
    if (count > 0) row = row.subspan(static_cast<std::size_t>(count));
  }
  close(file);
  if (code != 0) return os_error(code, "write", path);
  return {};
}

Result<std::unique_ptr<FilePerBlock>> FilePerBlock::write(const std::string& directory, BenchBlocks& blocks,
                                                          const std::atomic<bool>& stop) {
  std::unique_ptr<FilePerBlock> files(new FilePerBlock(directory, blocks, stop));
  auto row = AlignedBuffer::allocate(static_cast<std::size_t>(blocks.row().value()));
  if (row.has_error()) return row.error();
  const auto bytes = row->span().first(static_cast<std::size_t>(blocks.row().value()));
  blocks.fill(bytes);
  for (std::size_t i = 0; i < blocks.count(); ++i) {
    if (stop) return bench_stopped();
    blocks.stamp(bytes, i);
    if (auto written = files->write_one(i, bytes); written.has_error()) return written.error();
  }
  return files;
}

int FilePerBlock::read_one(std::size_t block, std::span<std::byte> row) const {
  const int file = ::open(path_of(block).c_str(), O_RDONLY | O_CLOEXEC | (direct_ ? O_DIRECT : 0));
  if (file < 0) return errno;
  int code = 0;
  for (std::size_t got = 0; got < row.size() && code == 0;) {
    const ssize_t count = ::read(file, row.data() + got, row.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) code = count < 0 ? errno : EIO;
    if (count > 0) got += static_cast<std::size_t>(count);
  }
  close(file);
  if (code != 0) return code;
  return blocks_.some_right(row, block) ? 0 : kWrongBytes;
}

/// One thread: blocks from `begin` on where it has its own, or the next of all.
void FilePerBlock::serve(Work& work, std::size_t begin, std::size_t end) const {
  const auto size = static_cast<std::size_t>(blocks_.row().value());
  auto row = AlignedBuffer::allocate(size);
  if (row.has_error()) {
    work.failed = ENOMEM;
    return;
  }
  const bool pool = begin == end;
  for (;;) {
    const std::size_t block = pool ? work.next++ : begin++;
    if (block >= (pool ? blocks_.count() : end) || work.failed != 0 || stop_) return;
    if (const int code = read_one(block, row->span().first(size)); code != 0) work.failed = code;
    const std::size_t request = std::min(block / work.per_request, work.left.size() - 1);
    const std::lock_guard lock(work.mutex);
    if (--work.left[request] == 0) work.over[request] = clock_.now() - work.start;
  }
}

Result<FilePerBlock::Times> FilePerBlock::read(ReadPattern pattern, std::size_t requests) {
  requests = std::min(requests, blocks_.count());
  Work work;
  work.per_request = blocks_.count() / requests;
  work.left.assign(requests, work.per_request);
  work.left.back() = blocks_.count() - work.per_request * (requests - 1);
  work.over.resize(requests);
  const bool pool = pattern == ReadPattern::four_readers;
  const std::size_t count = pool ? kReaders : requests;
  std::latch ready(static_cast<std::ptrdiff_t>(count + 1));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = pool ? 0 : i * work.per_request;
    const std::size_t end = pool ? 0 : begin + work.left[i];
    threads.emplace_back([&, begin, end] {
      ready.arrive_and_wait();
      serve(work, begin, end);
    });
  }
  work.start = clock_.now();
  ready.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  Times times;
  times.all = clock_.now() - work.start;
  if (stop_) return bench_stopped();
  if (work.failed == kWrongBytes) {
    return make_error(ErrorKind::internal, "bench", directory_, "WRONG BYTES in a file of the pattern");
  }
  if (work.failed != 0) return os_error(work.failed, "read", directory_);
  times.request_mean =
      std::accumulate(work.over.begin(), work.over.end(), Seconds(0)) / static_cast<double>(requests);
  return times;
}

}  // namespace fulcrum::cli
