#include "tiers/aligned_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLarge = 2 * kHugePage;

/// Cuts a mapping with slack down to `size` bytes that begin on a huge page, and asks for such pages: a
/// transfer of small pages is cut into many segments, which drives take more slowly. Refusal does no harm.
std::byte* align_for_huge_pages(std::byte* data, std::size_t size) {
  const std::size_t front = (kHugePage - reinterpret_cast<std::uintptr_t>(data) % kHugePage) % kHugePage;
  if (front > 0) munmap(data, front);
  if (front < kHugePage) munmap(data + front + size, kHugePage - front);
  madvise(data + front, size, MADV_HUGEPAGE);
  return data + front;
}

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(std::size_t size) {
  const std::string where = std::to_string(size) + " bytes";
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (size == 0) return bad_input("buffer", "a buffer of 0 bytes", "ask for at least one byte");
  if (size > std::numeric_limits<std::size_t>::max() - page) return os_error(ENOMEM, "allocate", where);
  const std::size_t whole = (size + page - 1) / page * page;
  // Own mapping rather than the heap: pages that a device may still write to are never handed out again
  // by malloc, and a mistake faults instead of spoiling a neighbour.
  const std::size_t slack = whole >= kLarge ? kHugePage : 0;
  if (whole > std::numeric_limits<std::size_t>::max() - slack) return os_error(ENOMEM, "allocate", where);
  void* data = mmap(nullptr, whole + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return os_error(errno, "allocate", where);
  auto* begin = static_cast<std::byte*>(data);
  if (slack > 0) begin = align_for_huge_pages(begin, whole);
  return AlignedBuffer(begin, whole);
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace fulcrum
