// AlignedBuffer: page-aligned memory for transfers. Zeroed, its own mapping, freed by its destructor. Large
// ones begin on a huge page and ask for huge pages, as the rows of the engine do.
#pragma once

#include <cstddef>
#include <span>

#include "fulcrum/result.h"

namespace fulcrum {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// At least `size` bytes, rounded up to whole pages. Kinds: no_memory, bad_input (size 0).
  static Result<AlignedBuffer> allocate(std::size_t size);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  [[nodiscard]] std::span<std::byte> span() const { return {data_, size_}; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  AlignedBuffer(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace fulcrum
