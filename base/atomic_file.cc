#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "base/errors.h"

namespace fulcrum {
namespace {

/// Closes what it owns; close() says whether the kernel still had a write error to tell.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  int close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

int open_retrying(const std::string& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// Returns 0 or errno.
int write_all(int fd, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Makes the rename durable. Filesystems that cannot sync a directory say EINVAL; nothing better exists
/// there.
int sync_directory(const std::string& directory) {
  Descriptor opened(open_retrying(directory, O_RDONLY | O_DIRECTORY));
  if (!opened.open()) return errno;
  if (::fsync(opened.get()) != 0 && errno != EINVAL && errno != EOPNOTSUPP) return errno;
  return 0;
}

/// A name that no other writer uses; a leftover of a crashed process is stepped over, not reused.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
}

/// Errors name `path`, the file that the caller knows.
Result<void> write_temporary(const std::string& name, std::string_view contents, const std::string& path) {
  Descriptor file(open_retrying(name, O_WRONLY | O_CREAT | O_EXCL, 0666));
  if (!file.open()) return os_error(errno, "create", path);
  if (const int code = write_all(file.get(), contents); code != 0) return os_error(code, "write", path);
  if (::fsync(file.get()) != 0) return os_error(errno, "sync", path);
  if (const int code = file.close(); code != 0) return os_error(code, "close", path);
  return {};
}

/// Only a regular file may be replaced: a rename would put a file where /dev/null or a directory was.
Result<void> check_replaceable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (S_ISREG(status.st_mode)) return {};
  return bad_input(path, S_ISDIR(status.st_mode) ? "is a directory" : "is not a regular file",
                   "name a file to write");
}

}  // namespace

Result<void> write_file_atomically(const std::string& path, std::string_view contents) {
  if (auto allowed = check_replaceable(path); !allowed) return allowed.error();
  std::string temporary = temporary_name(path);
  auto written = write_temporary(temporary, contents, path);
  while (!written && written.error().os_error == EEXIST) {
    temporary = temporary_name(path);
    written = write_temporary(temporary, contents, path);
  }
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = os_error(errno, "rename to", path);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written.error();
  }
  const std::string directory = directory_of(path);
  if (const int code = sync_directory(directory); code != 0) return os_error(code, "sync", directory);
  return {};
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  Descriptor file(open_retrying(path, O_RDONLY));
  if (!file.open()) return os_error(errno, "open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return os_error(errno, "stat", path);
  if (S_ISDIR(status.st_mode)) return bad_input(path, "is a directory", "name a file");
  std::string contents;
  std::string block(std::size_t{64} << 10, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error(errno, "read", path);
    if (got == 0) return contents;
    if (contents.size() + static_cast<std::size_t>(got) > limit) {
      return bad_input(path, "is larger than " + std::to_string(limit) + " bytes", "name the right file");
    }
    contents.append(block.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace fulcrum
