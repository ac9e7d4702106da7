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
std::set<std::pair<std::uint64_t, std::uint64_t>> held;  // device and inode

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

Error held_by(const OwnerRecord& holder, const std::string& directory) {
  Error error =
      make_error(ErrorKind::busy, "open the store in", directory,
                 holder.pid > 0 ? "it is held by " + holder.describe() : "another process is reading it",
                 "stop that one first, or choose another directory");
  error.scope = ErrorScope::tier;
  return error;
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
  const bool owner = share == Share::exclusive;
  const std::string path = directory + "/LOCK";
  const int flags = (owner ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW;
  std::unique_ptr<OwnerLock> lock(new OwnerLock(open(path.c_str(), flags, 0600)));
  if (lock->descriptor_ < 0) {
    if (!owner && errno == ENOENT) return lock;
    return os_error(errno, "open", path);
  }
  const std::lock_guard one_at_a_time(held_mutex);
  struct stat facts {};
  if (fstat(lock->descriptor_, &facts) != 0) return os_error(errno, "look at", path);
  lock->id_ = {facts.st_dev, facts.st_ino};
  if (held.count(lock->id_) != 0) return held_by(record_in(lock->descriptor_), directory);
  if (flock(lock->descriptor_, (owner ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return held_by(record_in(lock->descriptor_), directory);
    return lock_error(errno, path);
  }
  if (owner) lock->sign();
  return lock;
}

void OwnerLock::sign() {
  held.insert(id_);
  owner_ = true;
  record_ = new_record();
  const std::string text = text_of(record_);
  // For people only: without it the holder has no name, and the lock holds all the same.
  [[maybe_unused]] const ssize_t written = pwrite(descriptor_, text.data(), text.size(), 0);
}

OwnerLock::~OwnerLock() {
  if (descriptor_ < 0) return;
  if (owner_) {
    const std::lock_guard one_at_a_time(held_mutex);
    std::array<char, kRecordBytes> blank;  // a destructor has no memory to ask for
    blank.fill('\n');
    [[maybe_unused]] const ssize_t written = pwrite(descriptor_, blank.data(), blank.size(), 0);
    held.erase(id_);
    flock(descriptor_, LOCK_UN);  // also for children that share it
  }
  close(descriptor_);
}

}  // namespace fulcrum
