#include "tiers/thread_engine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/out_of_memory.h"
#include "tiers/transfer.h"

namespace fulcrum {

std::int64_t RawIo::read(int descriptor, std::span<std::byte> buffer, std::int64_t offset) {
  const ssize_t moved = pread(descriptor, buffer.data(), buffer.size(), offset);
  return moved < 0 ? -errno : moved;
}

std::int64_t RawIo::write(int descriptor, std::span<const std::byte> buffer, std::int64_t offset) {
  const ssize_t moved = pwrite(descriptor, buffer.data(), buffer.size(), offset);
  return moved < 0 ? -errno : moved;
}

std::int64_t RawIo::allocate(int descriptor, std::int64_t offset, std::int64_t length) {
  return fallocate(descriptor, 0, offset, length) == 0 ? 0 : -errno;
}

std::int64_t RawIo::sync(int descriptor) {
  return fdatasync(descriptor) == 0 ? 0 : -errno;
}

namespace {

using Lock = std::unique_lock<std::mutex>;

/// A duration that the standard library's waits take without overflow.
std::chrono::duration<double> bounded(Seconds wait) {
  constexpr double kDay = 86400;
  return std::chrono::duration<double>(std::clamp(wait.value(), 0.0, kDay));
}

/// What the workers share. Held by each of them, so that a worker stuck in a dead mount can be left behind.
struct Pool {
  Pool(std::shared_ptr<const FileSet> f, std::shared_ptr<RawIo> io)
      : files(std::move(f)), raw_io(std::move(io)) {}

  std::shared_ptr<const FileSet> files;
  std::shared_ptr<RawIo> raw_io;
  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable news;  ///< something ended, or a worker left
  std::deque<Transfer> waiting;
  std::deque<IoCompletion> ended;
  std::size_t running = 0;
  std::size_t idle = 0;
  std::size_t alive = 0;
  std::uint64_t resumed = 0;
  bool woken = false;
  bool stop = false;
};

std::int64_t call(RawIo& raw_io, const FileSet& files, const Transfer& transfer) {
  const auto [index, descriptor, offset] = files.place_of(transfer.rest_offset());
  switch (transfer.kind()) {
    case IoKind::read:
      return raw_io.read(descriptor, transfer.rest(), offset);
    case IoKind::write:
      return raw_io.write(descriptor, transfer.rest(), offset);
    case IoKind::allocate:
      return raw_io.allocate(descriptor, offset, transfer.length());
    case IoKind::sync:
      return raw_io.sync(descriptor);
  }
  return -EINVAL;
}

/// Carries one request to its end.
void carry(Pool& pool, Transfer& transfer, Clock& clock) {
  for (;;) {
    const std::int64_t answer = call(*pool.raw_io, *pool.files, transfer);
    if (transfer.advance(answer) == Transfer::Next::finished) return;
    // EAGAIN comes back until the system has resources: 64 attempts of up to 1 ms each.
    if (answer == -EAGAIN) clock.sleep(Seconds(std::min(20e-6 * transfer.fruitless(), 1e-3)));
  }
}

void serve(const std::shared_ptr<Pool>& pool) {
  SteadyClock clock;
  Lock lock(pool->mutex);
  for (;;) {
    ++pool->idle;
    pool->work.wait(lock, [&] { return pool->stop || !pool->waiting.empty(); });
    --pool->idle;
    if (pool->waiting.empty()) break;
    Transfer transfer = pool->waiting.front();
    pool->waiting.pop_front();
    ++pool->running;
    lock.unlock();
    carry(*pool, transfer, clock);
    IoCompletion completion = transfer.completion(clock.now(), *pool->files);
    lock.lock();
    --pool->running;
    pool->resumed += transfer.resumed();
    pool->ended.push_back(std::move(completion));
    pool->news.notify_one();
  }
  --pool->alive;
  pool->news.notify_one();
}

class ThreadEngine final : public IoEngine {
 public:
  ThreadEngine(std::shared_ptr<const FileSet> files, const ThreadEngineOptions& options)
      : pool_(std::make_shared<Pool>(std::move(files),
                                     options.raw_io ? options.raw_io : std::make_shared<RawIo>())),
        threads_max_(std::clamp<std::size_t>(options.threads_max, 1, options.depth_max)),
        step_(pool_->files->direct() ? pool_->files->alignment() : 1),
        close_limit_(options.close_limit) {}

  ~ThreadEngine() override {
    bool all_left = false;
    {
      Lock lock(pool_->mutex);
      Pool& pool = *pool_;
      pool.news.wait_for(lock, bounded(close_limit_),
                         [&] { return pool.waiting.empty() && pool.running == 0; });
      pool.waiting.clear();
      pool.stop = true;
      pool.work.notify_all();
      // A worker that is not inside a system call leaves at once; one that is may never come back.
      all_left = pool.news.wait_for(lock, bounded(kLeaveLimit), [&] { return pool.alive == 0; });
    }
    for (std::thread& worker : workers_) all_left ? worker.join() : worker.detach();
  }

  Result<void> start(const IoRequest& request) override {
    Lock lock(pool_->mutex);
    if (pool_->idle <= pool_->waiting.size() && workers_.size() < threads_max_) {
      if (const int code = add_worker(); code != 0 && workers_.empty()) {
        return os_error(code, "start a thread for", pool_->files->directory());
      }
    }
    pool_->waiting.emplace_back(request, step_, clock_.now());
    pool_->work.notify_one();
    return {};
  }

  Result<std::size_t> collect(std::span<IoCompletion> out, Seconds wait) override {
    Lock lock(pool_->mutex);
    Pool& pool = *pool_;
    if (wait > Seconds(0)) {
      pool.news.wait_for(lock, bounded(wait), [&] { return !pool.ended.empty() || pool.woken; });
    }
    pool.woken = false;
    const std::size_t count = std::min(out.size(), pool.ended.size());
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = std::move(pool.ended.front());
      pool.ended.pop_front();
    }
    resumed_ = pool.resumed;
    return count;
  }

  void wake() override {
    const Lock lock(pool_->mutex);
    pool_->woken = true;
    pool_->news.notify_one();
  }

  Result<void> register_buffers(std::span<std::byte> /*region*/) override {
    return make_error(ErrorKind::unsupported, "register buffers", pool_->files->directory(),
                      "only io_uring knows registered buffers", "go on without");
  }

 private:
  static constexpr Seconds kLeaveLimit = Seconds(0.2);

  /// Called with the lock held: the new worker waits for it. An errno, or 0.
  int add_worker() {
    try {
      workers_.emplace_back([pool = pool_] { or_stop("an I/O thread", [&] { serve(pool); }); });
    } catch (const std::system_error& refused) {
      return refused.code().value();
    }
    ++pool_->alive;
    return 0;
  }

  std::shared_ptr<Pool> pool_;
  std::vector<std::thread> workers_;
  std::size_t threads_max_;
  std::size_t step_;
  Seconds close_limit_;
};

}  // namespace

std::unique_ptr<IoEngine> make_thread_engine(std::shared_ptr<const FileSet> files,
                                             const ThreadEngineOptions& options) {
  return std::make_unique<ThreadEngine>(std::move(files), options);
}

}  // namespace fulcrum
