// OwnerLock: one owner a directory, and a record of who it is.
//
// A lock (flock) on the file LOCK, which the kernel drops with its holder, so that a killed owner is no
// obstacle; and a set of what this process holds, since some network filesystems lock by process. Whoever
// comes second is told at once who came first. A child made by fork shares the lock until it calls exec.
//
// LOCK looks stale to people, and they delete it. So the file `meta` is locked as well, once there is one:
// without that file there is no store that a second owner could write to.
//
//   LOCK: 512 bytes, lines "pid 12", "host a", "boot 9f...", "nonce 5c...", "since 2026-...", padded
//
// Threads: take() and the destructor from any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "fulcrum/result.h"

namespace fulcrum {

struct OwnerRecord {
  std::int64_t pid = 0;
  std::string host;
  std::string boot;         ///< the kernel's id of this boot
  std::uint64_t nonce = 0;  ///< random, of this one holding
  std::string since;        ///< wall-clock time, UTC

  /// "pid 12 on host a since 2026-...".
  [[nodiscard]] std::string describe() const;
};

class OwnerLock {
 public:
  enum class Share { exclusive, reading };

  /// Kinds: busy (held: by whom), permission, read_only, not_found, unsupported (a filesystem without locks).
  /// Readers exclude owners and not each other; they write no record, and need no lock where there never
  /// was an owner.
  static Result<std::unique_ptr<OwnerLock>> take(const std::string& directory, Share share);
  /// Locks `meta` where that was not there before: call it when the file has been made. Kinds as take().
  Result<void> cover_meta();
  ~OwnerLock();
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

  /// This holder. Empty for readers.
  [[nodiscard]] const OwnerRecord& record() const { return record_; }

 private:
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  ///< device and inode
  struct Locked {
    int descriptor = -1;
    FileId id;
  };

  OwnerLock(std::string directory, Share share)
      : directory_(std::move(directory)), owner_(share == Share::exclusive) {}
  Result<void> lock(Locked& file, const char* name, int flags);
  [[nodiscard]] Error refusal(const Locked& file, bool meta) const;
  void sign();
  static void release(Locked& file, bool owned);

  std::string directory_;
  bool owner_;
  Locked lock_;
  Locked meta_;
  OwnerRecord record_;
};

}  // namespace fulcrum
