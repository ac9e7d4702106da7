#include "tiers/owner_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

// One block, overwritten in place: a full disk cannot take the record away.
constexpr std::size_t kRecordBytes = 512;

std::mutex held_mutex;
std::set<std::pair<std::uint64_t, std::uint64_t>> held_here;  // device and inode

OwnerRecord new_record() {
  OwnerRecord record;
  record.pid = getpid();
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) record.host = host.data();
  std::ifstream("/proc/sys/kernel/random/boot_id") >> record.boot;
  while (getrandom(&record.nonce, sizeof record.nonce, 0) < 0 && errno == EINTR) {
  }
  record.since = utc_stamp();
  return record;
}

std::string text_of(const OwnerRecord& record) {
  std::ostringstream out;
  out << "pid " << record.pid << "\nhost " << record.host << "\nboot " << record.boot << "\nnonce "
      << std::hex << record.nonce << "\nsince " << record.since << '\n';
  std::string text = out.str();
  text.resize(kRecordBytes, '\n');
  return text;
}

OwnerRecord record_in(int descriptor) {
  std::array<char, kRecordBytes> bytes{};
  const ssize_t count = pread(descriptor, bytes.data(), bytes.size(), 0);
  std::istringstream in(std::string(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0));
  OwnerRecord record;
  std::string key;
  while (in >> key) {
    if (key == "pid") in >> record.pid;
    if (key == "host") in >> record.host;
    if (key == "boot") in >> record.boot;
    if (key == "nonce") in >> std::hex >> record.nonce >> std::dec;
    if (key == "since") in >> record.since;
  }
  return record;
}

Error held(const std::string& directory, const std::string& by, const std::string& next_step) {
  Error error = make_error(ErrorKind::busy, "open the store in", directory, by, next_step);
  error.scope = ErrorScope::tier;
  return error;
}

Error no_file(const std::string& path) {
  return make_error(ErrorKind::bad_input, "lock", path, "it is no regular file",
                    "move it away, or choose another directory");
}

Error lock_error(int code, const std::string& path) {
  Error error = os_error(code, "lock", path);
  if (code == ENOLCK || code == EOPNOTSUPP || code == ENOSYS) {
    error.kind = ErrorKind::unsupported;
    error.next_step = "mount this filesystem with locks (Lustre: -o flock; NFS: a lock service)";
  }
  return error;
}

}  // namespace

std::string OwnerRecord::describe() const {
  return "pid " + std::to_string(pid) + " on host " + host + " since " + since;
}

Result<std::unique_ptr<OwnerLock>> OwnerLock::take(const std::string& directory, Share share) {
  std::unique_ptr<OwnerLock> lock(new OwnerLock(directory, share));
  const bool owner = share == Share::exclusive;
  if (auto taken = lock->lock(lock->lock_, "/LOCK", owner ? O_RDWR | O_CREAT : O_RDONLY); taken.has_error()) {
    return taken.error();
  }
  if (auto taken = lock->cover_meta(); taken.has_error()) return taken.error();
  if (owner) lock->sign();
  return lock;
}

Result<void> OwnerLock::cover_meta() {
  if (meta_.descriptor >= 0) return {};
  return lock(meta_, "/meta", owner_ ? O_RDWR : O_RDONLY);
}

/// No file, no lock, where none is to be made: there is no store, or its owners have never locked it.
Result<void> OwnerLock::lock(Locked& file, const char* name, int flags) {
  const std::string path = directory_ + name;
  Locked one;
  // Not to wait where somebody has put a pipe there.
  one.descriptor = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (one.descriptor < 0) {
    if (errno == ENOENT && (flags & O_CREAT) == 0) return {};
    if (errno == EISDIR || errno == ELOOP || errno == ENXIO) return no_file(path);
    return os_error(errno, "open", path);
  }
  const std::lock_guard one_at_a_time(held_mutex);
  Result<void> locked;
  struct stat facts {};
  if (fstat(one.descriptor, &facts) != 0) {
    locked = os_error(errno, "look at", path);
  } else if (!S_ISREG(facts.st_mode)) {
    locked = no_file(path);
  } else {
    one.id = {facts.st_dev, facts.st_ino};
    if (held_here.count(one.id) != 0) {
      locked = refusal(one, &file == &meta_);
    } else if (flock(one.descriptor, (owner_ ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
      locked = errno == EWOULDBLOCK ? refusal(one, &file == &meta_) : lock_error(errno, path);
    }
  }
  if (locked.has_error()) {
    close(one.descriptor);
    return locked;
  }
  if (owner_) held_here.insert(one.id);
  file = one;
  return {};
}

/// Who has it: LOCK says so, unless it was deleted and made anew since.
Error OwnerLock::refusal(const Locked& file, bool meta) const {
  if (meta) {
    return held(
        directory_, "another process has its file 'meta' open, though LOCK was deleted under it",
        "stop that process first (fuser " + directory_ + "/meta names it), or choose another directory");
  }
  const OwnerRecord holder = record_in(file.descriptor);
  return held(directory_,
              holder.pid > 0 ? "it is held by " + holder.describe() : "another process is reading it",
              "stop that one first, or choose another directory");
}

void OwnerLock::sign() {
  record_ = new_record();
  const std::string text = text_of(record_);
  // For people only: without it the holder has no name, and the lock holds all the same.
  [[maybe_unused]] const ssize_t written = pwrite(lock_.descriptor, text.data(), text.size(), 0);
}

void OwnerLock::release(Locked& file, bool owned) {
  if (file.descriptor < 0) return;
  if (owned) {
    held_here.erase(file.id);
    flock(file.descriptor, LOCK_UN);  // also for children that share it
  }
  close(file.descriptor);
}

OwnerLock::~OwnerLock() {
  const std::lock_guard one_at_a_time(held_mutex);
  release(meta_, owner_);
  if (record_.pid > 0) {
    std::array<char, kRecordBytes> blank;  // a destructor has no memory to ask for
    blank.fill('\n');
    [[maybe_unused]] const ssize_t written = pwrite(lock_.descriptor, blank.data(), blank.size(), 0);
  }
  release(lock_, owner_);
}

}  // namespace fulcrum
