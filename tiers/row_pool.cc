#include "tiers/row_pool.h"

#include <limits>
#include <mutex>
#include <utility>

#include "base/errors.h"
#include "base/out_of_memory.h"
#include "tiers/row_pool_runs.h"
#include "tiers/row_pool_slab.h"

namespace fulcrum {
namespace {

constexpr std::size_t kRowAlignment = 4096;
constexpr std::size_t kSlabMax = std::size_t{1} << 46;  // more than any machine has, and far from overflow

}  // namespace

bool RowQuota::take(std::size_t count) {
  std::size_t used = used_.load();
  do {
    if (count > limit_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + count));
  return true;
}

Row::Row(std::shared_ptr<RowPool> pool, std::shared_ptr<RowQuota> quota, std::size_t index)
    : pool_(std::move(pool)), quota_(std::move(quota)), index_(index) {}

Row::Row(Row&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      quota_(std::exchange(other.quota_, nullptr)),
      index_(other.index_) {}

Row& Row::operator=(Row&& other) noexcept {
  if (this == &other) return *this;
  const Row before(std::move(*this));
  pool_ = std::exchange(other.pool_, nullptr);
  quota_ = std::exchange(other.quota_, nullptr);
  index_ = other.index_;
  return *this;
}

Row::~Row() {
  if (pool_ == nullptr) return;
  or_stop("giving a row back", [this] { pool_->give_back(index_); });
  // Last: who finds room in the quota finds the row in the pool.
  if (quota_ != nullptr) quota_->give_back(1);
}

std::byte* Row::data() const {
  return pool_->memory().data() + index_ * pool_->stride();
}

std::span<std::byte> Row::bytes() const {
  return {data(), static_cast<std::size_t>(pool_->row_bytes().value())};
}

class RowPool::Impl {
 public:
  Impl(const RowPoolOptions& options, std::size_t row_stride, std::unique_ptr<RowSlab> memory)
      : row_bytes(options.row_bytes),
        rows(options.rows),
        stride(row_stride),
        slab(std::move(memory)),
        runs(options.rows) {}

  const Bytes row_bytes;
  const std::size_t rows;
  const std::size_t stride;
  const std::unique_ptr<RowSlab> slab;
  mutable std::mutex mutex;
  RowRuns runs;  ///< under mutex
};

Result<std::shared_ptr<RowPool>> RowPool::create(const RowPoolOptions& options) {
  if (options.rows == 0 || options.row_bytes <= Bytes(0)) {
    return bad_input("row pool", "it has no rows, or rows of no bytes",
                     "ask for at least one row of one byte");
  }
  const auto bytes = static_cast<std::size_t>(options.row_bytes.value());
  const std::size_t stride =
      bytes > kSlabMax ? bytes : (bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  if (stride > kSlabMax / options.rows) {
    return make_error(ErrorKind::no_memory, "take",
                      std::to_string(options.rows) + " rows of " + std::to_string(bytes) + " bytes",
                      "no machine has that much memory", "lower the capacity of the memory tier");
  }
  auto slab = RowSlab::create(stride * options.rows, options);
  if (slab.has_error()) return slab.error();
  return std::shared_ptr<RowPool>(new RowPool(std::make_unique<Impl>(options, stride, std::move(*slab))));
}

RowPool::RowPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RowPool::~RowPool() = default;

std::optional<std::vector<Row>> RowPool::take(std::size_t count, const std::shared_ptr<RowQuota>& quota) {
  if (quota != nullptr && !quota->take(count)) return std::nullopt;
  std::vector<std::size_t> indices;
  indices.reserve(count);
  bool enough = false;
  {
    const std::lock_guard lock(impl_->mutex);
    enough = count <= impl_->runs.free();
    if (enough) impl_->runs.take(count, indices);
  }
  if (!enough) {
    if (quota != nullptr) quota->give_back(count);
    return std::nullopt;
  }
  std::vector<Row> rows;
  rows.reserve(count);
  for (const std::size_t index : indices) rows.push_back(Row(shared_from_this(), quota, index));
  return rows;
}

void RowPool::give_back(std::size_t index) {
  const std::lock_guard lock(impl_->mutex);
  impl_->runs.give_back(index);
}

std::size_t RowPool::free_rows() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->runs.free();
}

std::size_t RowPool::rows() const {
  return impl_->rows;
}
Bytes RowPool::row_bytes() const {
  return impl_->row_bytes;
}
std::size_t RowPool::stride() const {
  return impl_->stride;
}
std::span<std::byte> RowPool::memory() const {
  return impl_->slab->memory().first(impl_->rows * impl_->stride);
}
int RowPool::descriptor() const {
  return impl_->slab->descriptor();
}
const std::string& RowPool::description() const {
  return impl_->slab->description();
}

}  // namespace fulcrum
