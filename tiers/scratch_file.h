// ScratchFile: an unnamed file of a fixed size in a given directory, gone when its descriptor closes.
//
// Opened around the page cache (O_DIRECT) where path and filesystem really do it; refusal() says why not.
// Threads: immutable once made.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

struct ScratchFileOptions {
  Bytes size{};
  bool direct = true;  ///< try O_DIRECT
  bool preallocate = true;
};

class ScratchFile {
 public:
  /// Kinds: not_found, permission, read_only, no_space and quota (with the bytes that are missing),
  /// file_limit, device, bad_input (size is no multiple of the alignment).
  static Result<std::shared_ptr<const ScratchFile>> create(const std::string& directory,
                                                           const ScratchFileOptions& options);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] Bytes size() const { return size_; }
  /// Of offsets, sizes and addresses, a power of two. 512 in buffered mode, so that callers who respect it
  /// find direct mode the same.
  [[nodiscard]] std::size_t alignment() const { return alignment_; }
  [[nodiscard]] bool direct() const { return direct_; }
  /// Why direct() is false although it was asked for; empty otherwise.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  ScratchFile(int descriptor, std::string directory, Bytes size)
      : descriptor_(descriptor), directory_(std::move(directory)), size_(size) {}
  Result<void> reserve(bool preallocate) const;
  void settle_direct(int open_error);
  Result<void> reopen_buffered() const;

  int descriptor_;
  std::string directory_;
  Bytes size_;
  std::size_t alignment_ = 512;
  bool direct_ = false;
  std::string refusal_;
};

}  // namespace fulcrum
