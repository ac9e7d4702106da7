// ScratchFile: an unnamed file of a fixed size in a given directory, gone when its descriptor closes.
//
// Opened around the page cache (O_DIRECT) where path and filesystem really do it; refusal() says why not.
// Threads: immutable once made.
#pragma once

#include <memory>
#include <string>

#include "fulcrum/result.h"
#include "tiers/file_set.h"

namespace fulcrum {

struct ScratchFileOptions {
  Bytes size{};
  bool direct = true;  ///< try O_DIRECT
  bool preallocate = true;
};

class ScratchFile final : public FileSet {
 public:
  /// Kinds: not_found, permission, read_only, no_space and quota (with the bytes that are missing),
  /// file_limit, device, bad_input (size is no multiple of the alignment).
  static Result<std::shared_ptr<const ScratchFile>> create(const std::string& directory,
                                                           const ScratchFileOptions& options);
  /// Whether direct I/O works there at all, found with a small file of its own. The errno `code` is also set
  /// where the file could not be made.
  [[nodiscard]] static DirectIo try_direct_in(const std::string& directory);

 private:
  ScratchFile(int descriptor, std::string directory, Bytes size)
      : FileSet(std::move(directory), size, Bytes(0), Bytes(0)) {
    add(descriptor);
  }
  Result<void> reserve(bool preallocate) const;
  [[nodiscard]] std::string path_of(std::size_t index) const override;
};

}  // namespace fulcrum
