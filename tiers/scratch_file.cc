#include "tiers/scratch_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/errors.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_space.h"
#include "tiers/mount.h"

namespace fulcrum {
namespace {

constexpr std::size_t kZeroChunk = std::size_t{1} << 20;

/// Opens an unnamed file; the descriptor, or a negative errno.
int open_unnamed(const std::string& directory, int flags) {
  const int unnamed = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (unnamed >= 0) return unnamed;
  // Old kernels answer EISDIR, filesystems without O_TMPFILE EOPNOTSUPP (NFS, FUSE, some overlays).
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return -errno;
  std::string name = directory + "/.fulcrum-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | flags);
  if (named < 0) return -errno;
  if (unlink(name.c_str()) == 0) return named;
  const int code = errno;
  close(named);
  return -code;
}

/// Takes the space by writing zeros: for filesystems without fallocate. An errno, or 0.
int write_zeros(int descriptor, std::int64_t size) {
  Result<AlignedBuffer> zeros = AlignedBuffer::allocate(kZeroChunk);
  if (zeros.has_error()) return ENOMEM;
  std::int64_t offset = 0;
  while (offset < size) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(size - offset, kZeroChunk));
    const ssize_t written = pwrite(descriptor, zeros->data(), count, offset);
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) offset += written;
  }
  return 0;
}

}  // namespace

Result<std::shared_ptr<const ScratchFile>> ScratchFile::create(const std::string& directory,
                                                               const ScratchFileOptions& options) {
  int refused = 0;
  int descriptor = open_unnamed(directory, options.direct ? O_DIRECT : 0);
  if (options.direct && (descriptor == -EINVAL || descriptor == -EOPNOTSUPP)) {
    refused = -descriptor;
    descriptor = open_unnamed(directory, 0);
  }
  if (descriptor < 0) return os_error(-descriptor, "make a scratch file in", directory);

  std::shared_ptr<ScratchFile> file(new ScratchFile(descriptor, directory, options.size));
  if (Result<void> reserved = file->reserve(options.preallocate); reserved.has_error())
    return reserved.error();
  if (options.direct) {
    // Memory is named as the reason before a refusal that it may have caused.
    const bool tell_refusal = refused != 0 && !is_memory_filesystem(descriptor);
    file->set_direct(tell_refusal ? direct_refused(directory, refused) : try_direct(descriptor, directory));
  }
  if (options.direct && !file->direct()) {
    if (Result<void> buffered = turn_off_direct(descriptor, directory); buffered.has_error())
      return buffered.error();
  }
  if (options.size.value() % static_cast<std::int64_t>(file->alignment()) != 0) {
    return bad_input(directory, "size " + std::to_string(options.size.value()) + " is no multiple of " +
                                    std::to_string(file->alignment()) + ", which this drive needs");
  }
  return std::shared_ptr<const ScratchFile>(std::move(file));
}

DirectIo ScratchFile::try_direct_in(const std::string& directory) {
  constexpr Bytes kProbe = 64_KiB;  // a multiple of any drive's alignment
  const auto file = create(directory, {.size = kProbe, .direct = true, .preallocate = false});
  if (file.has_value()) return (*file)->direct_io();
  DirectIo out;
  out.refusal = file.error().message();
  out.code = file.error().os_error;
  return out;
}

std::string ScratchFile::path_of(std::size_t /*index*/) const {
  return directory();
}

Result<void> ScratchFile::reserve(bool preallocate) const {
  const std::string doing = "take " + std::to_string(size().value()) + " bytes in";
  if (Result<void> allowed = check_file_size(size(), doing, directory()); allowed.has_error()) return allowed;
  int code = 0;
  if (preallocate) {
    do {
      code = fallocate(descriptor(), 0, 0, size().value()) == 0 ? 0 : errno;
    } while (code == EINTR);
    if (code == EOPNOTSUPP || code == ENOSYS) code = write_zeros(descriptor(), size().value());
  } else if (ftruncate(descriptor(), size().value()) != 0) {
    code = errno;
  }
  if (code == 0) return {};
  Error error = os_error(code, doing, directory());
  // Gives back a partial allocation first, so that the free space named below is what there was.
  if (ftruncate(descriptor(), 0) != 0) return error;
  return with_shortfall(std::move(error), descriptor(), size());
}

}  // namespace fulcrum
