#include "engine/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/errors.h"
#include "base/log.h"
#include "base/out_of_memory.h"

namespace fulcrum::engine {
namespace {

// What waits for a disk that does not keep up.
constexpr std::size_t kMostWaiting = std::size_t{4} << 20;

}  // namespace

struct LineFile::Shared {
  Shared(std::string name, int file) : path(std::move(name)), fd(file) {}
  ~Shared() { ::close(fd); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  void run();
  int write(std::string_view text);

  const std::string path;
  const int fd;
  bool torn = false;  ///< of the thread: the file ends within a line

  std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;  ///< whole lines
  std::size_t lines = 0;
  std::uint64_t lost = 0;
  std::string problem;
  bool closing = false;
  bool done = false;
};

void LineFile::Shared::run() {
  // The reader of a pipe may go: that is an error of write(), not the end of the process.
  sigset_t pipes;
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipes, nullptr);
  std::unique_lock lock(mutex);
  while (!closing || !waiting.empty()) {
    changed.wait(lock, [&] { return closing || !waiting.empty(); });
    const std::string text = std::exchange(waiting, {});
    const std::size_t count = std::exchange(lines, 0);
    lock.unlock();
    const int code = write(text);
    lock.lock();
    if (code == 0) continue;
    lost += count;
    const bool first = problem.empty();
    problem = os_error(code, "write", path).message();
    if (first) log(LogLevel::warn, "the decision log loses lines: " + problem);
  }
  done = true;
  changed.notify_all();
}

// Returns errno; 0 where all was written.
int LineFile::Shared::write(std::string_view text) {
  std::string whole;
  if (torn) whole = "\n";
  whole += text;
  for (std::string_view left = whole; !left.empty();) {
    const ssize_t written = ::write(fd, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int code = errno;
      torn = torn || left.size() < whole.size();
      return code;
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  torn = false;
  return 0;
}

Result<std::unique_ptr<LineFile>> LineFile::open(const std::string& path) {
  // Without waiting, which a pipe would do until someone reads it.
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd < 0) return os_error(errno, "open", path);
  auto shared = std::make_shared<Shared>(path, fd);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  std::thread([shared] { or_stop("writing the decision log", [&] { shared->run(); }); }).detach();
  return std::unique_ptr<LineFile>(new LineFile(std::move(shared)));
}

LineFile::~LineFile() {
  close(Seconds(0));
}

void LineFile::append(std::string_view line) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting.size() + line.size() >= kMostWaiting) {
    ++shared_->lost;
    if (shared_->problem.empty()) shared_->problem = shared_->path + " does not keep up with the decisions";
    return;
  }
  shared_->waiting += line;
  shared_->waiting += '\n';
  ++shared_->lines;
  shared_->changed.notify_all();
}

std::string LineFile::trouble() const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->lost == 0) return {};
  return "the decision log has lost " + std::to_string(shared_->lost) + " lines: " + shared_->problem;
}

bool LineFile::close(Seconds limit) {
  std::unique_lock lock(shared_->mutex);
  shared_->closing = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, std::chrono::duration<double>(limit.value()),
                            [&] { return shared_->done; });
  return shared_->done && shared_->lost == 0;
}

}  // namespace fulcrum::engine
