#include "tiers/scratch_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/errors.h"
#include "tiers/aligned_buffer.h"
#include "tiers/mount.h"

namespace fulcrum {
namespace {

constexpr std::size_t kSmallestAlignment = 512;
constexpr std::size_t kPage = 4096;
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

/// A full disk, with the number that the operator needs.
Error with_shortfall(Error error, int descriptor, Bytes size) {
  struct statvfs room {};
  if (error.kind != ErrorKind::no_space || error.os_error == EFBIG || fstatvfs(descriptor, &room) != 0) {
    return error;
  }
  const auto free_bytes = static_cast<std::int64_t>(room.f_bavail) * static_cast<std::int64_t>(room.f_frsize);
  error.detail = "needs " + std::to_string(size.value()) + " bytes, " + std::to_string(free_bytes) +
                 " are free: " + std::to_string(std::max<std::int64_t>(size.value() - free_bytes, 0)) +
                 " bytes short (the filesystem needs some for itself)";
  return error;
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

/// What a write and a read of `alignment` bytes do on this descriptor: 0, or an errno.
int try_transfer(int descriptor, std::size_t alignment) {
  Result<AlignedBuffer> block = AlignedBuffer::allocate(2 * alignment);
  if (block.has_error()) return ENOMEM;
  // An address and an offset aligned to this and to nothing more, or the probe would pass by luck.
  std::byte* data = block->data() + alignment;
  const off_t offset = alignment < kPage ? static_cast<off_t>(alignment) : 0;
  ssize_t moved = pwrite(descriptor, data, alignment, offset);
  if (moved > 0) moved = pread(descriptor, data, alignment, offset);
  if (moved < 0) return errno;
  return moved == static_cast<ssize_t>(alignment) ? 0 : EIO;
}

/// What the filesystem says about direct I/O: an alignment, 0 for "I do not do it".
struct DirectFacts {
  bool known = false;
  std::size_t alignment = 0;
};

DirectFacts ask_direct_facts([[maybe_unused]] int descriptor) {
#ifdef STATX_DIOALIGN
  struct statx facts {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 &&
      (facts.stx_mask & STATX_DIOALIGN) != 0) {
    const std::size_t strictest = std::max(facts.stx_dio_mem_align, facts.stx_dio_offset_align);
    return {true, facts.stx_dio_offset_align == 0 ? 0 : std::bit_ceil(strictest)};
  }
#endif
  return {};
}

std::string text_of(int code) {
  return std::generic_category().message(code);
}

}  // namespace

Result<std::shared_ptr<const ScratchFile>> ScratchFile::create(const std::string& directory,
                                                               const ScratchFileOptions& options) {
  int open_error = 0;
  int descriptor = open_unnamed(directory, options.direct ? O_DIRECT : 0);
  if (options.direct && (descriptor == -EINVAL || descriptor == -EOPNOTSUPP)) {
    open_error = -descriptor;
    descriptor = open_unnamed(directory, 0);
  }
  if (descriptor < 0) return os_error(-descriptor, "make a scratch file in", directory);

  std::shared_ptr<ScratchFile> file(new ScratchFile(descriptor, directory, options.size));
  if (Result<void> reserved = file->reserve(options.preallocate); reserved.has_error())
    return reserved.error();
  if (options.direct) file->settle_direct(open_error);
  if (options.direct && !file->direct_) {
    if (Result<void> buffered = file->reopen_buffered(); buffered.has_error()) return buffered.error();
  }
  if (options.size.value() % static_cast<std::int64_t>(file->alignment_) != 0) {
    return bad_input(directory, "size " + std::to_string(options.size.value()) + " is no multiple of " +
                                    std::to_string(file->alignment_) + ", which this drive needs");
  }
  return std::shared_ptr<const ScratchFile>(std::move(file));
}

ScratchFile::~ScratchFile() {
  close(descriptor_);
}

Result<void> ScratchFile::reserve(bool preallocate) const {
  const std::string doing = "take " + std::to_string(size_.value()) + " bytes in";
  // Past this limit the kernel does not only fail: it sends SIGXFSZ, which ends the process.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(size_.value())) {
    Error error = os_error(EFBIG, doing, directory_);
    error.detail = "files may have " + std::to_string(limit.rlim_cur) + " bytes at most here";
    return error;
  }
  int code = 0;
  if (preallocate) {
    do {
      code = fallocate(descriptor_, 0, 0, size_.value()) == 0 ? 0 : errno;
    } while (code == EINTR);
    if (code == EOPNOTSUPP || code == ENOSYS) code = write_zeros(descriptor_, size_.value());
  } else if (ftruncate(descriptor_, size_.value()) != 0) {
    code = errno;
  }
  if (code == 0) return {};
  Error error = os_error(code, doing, directory_);
  // Gives back a partial allocation first, so that the free space named below is what there was.
  if (ftruncate(descriptor_, 0) != 0) return error;
  return with_shortfall(std::move(error), descriptor_, size_);
}

void ScratchFile::settle_direct(int open_error) {
  if (is_memory_filesystem(descriptor_)) {
    // Newer tmpfs takes O_DIRECT and still copies from the page cache: there is nothing below it.
    refusal_ = "O_DIRECT: " + directory_ + " is kept in memory (tmpfs)";
    return;
  }
  if (open_error != 0) {
    refusal_ = "O_DIRECT refused at " + directory_ + ": " + text_of(open_error);
    return;
  }
  const DirectFacts facts = ask_direct_facts(descriptor_);
  if (facts.known && facts.alignment == 0) {
    refusal_ = "O_DIRECT: the filesystem at " + directory_ + " says that it does not do direct I/O";
    return;
  }
  int code = 0;
  const std::size_t first = facts.known ? std::max(facts.alignment, kSmallestAlignment) : kSmallestAlignment;
  for (std::size_t alignment = first; alignment <= std::max(first, kPage); alignment *= 2) {
    code = try_transfer(descriptor_, alignment);
    if (code == 0) {
      direct_ = true;
      alignment_ = alignment;
      return;
    }
  }
  refusal_ = "O_DIRECT failed at " + directory_ + ": " + text_of(code);
}

Result<void> ScratchFile::reopen_buffered() const {
  const int flags = fcntl(descriptor_, F_GETFL);
  if (flags >= 0 && fcntl(descriptor_, F_SETFL, flags & ~O_DIRECT) == 0) return {};
  return os_error(errno, "turn off O_DIRECT in", directory_);
}

}  // namespace fulcrum
