// RowSlab: the memory of a RowPool, as one mapping that is all there from the start.
//
// Internal to tiers/row_pool*. Aligned to 2 MiB, with a page that cannot be touched on either side.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "fulcrum/result.h"
#include "tiers/row_pool.h"

namespace fulcrum {

class RowSlab {
 public:
  /// At least `size` bytes. Errors as RowPool::create().
  static Result<std::unique_ptr<RowSlab>> create(std::size_t size, const RowPoolOptions& options);
  ~RowSlab();
  RowSlab(const RowSlab&) = delete;
  RowSlab& operator=(const RowSlab&) = delete;

  [[nodiscard]] std::span<std::byte> memory() const { return {data_, size_}; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  RowSlab() = default;
  Result<void> reserve(std::size_t size, const RowPoolOptions& options);
  Result<void> open_memory_file(const RowPoolOptions& options);
  Result<void> map(const RowPoolOptions& options);
  Result<void> bind(int node);
  Result<void> touch();
  [[nodiscard]] Error refused(int code, const std::string& operation, const RowPoolOptions& options) const;
  [[nodiscard]] std::string pages(const RowPoolOptions& options) const;

  std::byte* reserved_ = nullptr;
  std::size_t reserved_size_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int descriptor_ = -1;
  std::string description_;
};

}  // namespace fulcrum
