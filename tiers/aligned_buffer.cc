#include "tiers/aligned_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "base/errors.h"

namespace fulcrum {

Result<AlignedBuffer> AlignedBuffer::allocate(std::size_t size) {
  const std::string where = std::to_string(size) + " bytes";
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (size == 0) return bad_input("buffer", "a buffer of 0 bytes", "ask for at least one byte");
  if (size > std::numeric_limits<std::size_t>::max() - page) return os_error(ENOMEM, "allocate", where);
  const std::size_t whole = (size + page - 1) / page * page;
  // Own mapping rather than the heap: pages that a device may still write to are never handed out again
  // by malloc, and a mistake faults instead of spoiling a neighbour.
  void* data = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return os_error(errno, "allocate", where);
  return AlignedBuffer(static_cast<std::byte*>(data), whole);
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
