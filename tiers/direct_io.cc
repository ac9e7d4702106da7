#include "tiers/direct_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>

#include "base/errors.h"
#include "tiers/aligned_buffer.h"
#include "tiers/mount.h"

namespace fulcrum {
namespace {

constexpr std::size_t kSmallestAlignment = 512;
constexpr std::size_t kPage = 4096;

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

DirectIo refused(std::string why) {
  DirectIo out;
  out.refusal = std::move(why);
  return out;
}

/// Where the filesystem rules direct I/O out, why; empty otherwise.
std::string ruled_out(int descriptor, const std::string& directory, const DirectFacts& facts) {
  // Newer tmpfs takes O_DIRECT and still copies from the page cache: there is nothing below it.
  if (is_memory_filesystem(descriptor)) return "O_DIRECT: " + directory + " is kept in memory (tmpfs)";
  if (facts.known && facts.alignment == 0)
    return "O_DIRECT: the filesystem at " + directory + " says that it does not do direct I/O";
  return {};
}

}  // namespace

DirectIo direct_refused(const std::string& directory, int code) {
  return refused("O_DIRECT refused at " + directory + ": " + text_of(code));
}

DirectIo ask_direct(int descriptor, const std::string& directory) {
  const DirectFacts facts = ask_direct_facts(descriptor);
  if (std::string why = ruled_out(descriptor, directory, facts); !why.empty()) return refused(why);
  DirectIo out;
  out.works = true;
  out.alignment = facts.known ? std::max(facts.alignment, kSmallestAlignment) : kPage;
  return out;
}

DirectIo try_direct(int descriptor, const std::string& directory) {
  const DirectFacts facts = ask_direct_facts(descriptor);
  if (std::string why = ruled_out(descriptor, directory, facts); !why.empty()) return refused(why);
  DirectIo out;
  const std::size_t first = facts.known ? std::max(facts.alignment, kSmallestAlignment) : kSmallestAlignment;
  for (std::size_t alignment = first; alignment <= std::max(first, kPage); alignment *= 2) {
    out.code = try_transfer(descriptor, alignment);
    if (out.code != 0) continue;
    out.works = true;
    out.alignment = alignment;
    return out;
  }
  out.refusal = "O_DIRECT failed at " + directory + ": " + text_of(out.code);
  return out;
}

Result<void> turn_off_direct(int descriptor, const std::string& directory) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags >= 0 && fcntl(descriptor, F_SETFL, flags & ~O_DIRECT) == 0) return {};
  return os_error(errno, "turn off O_DIRECT in", directory);
}

}  // namespace fulcrum
