// RowPool: one slab of equal rows. The DRAM tier keeps its blocks in it; loads and writes stage in it.
//
// Everything is taken at the start, so that the cap is exact and nothing is allocated later. A row is given
// out as a Row: whoever holds it owns it, and the slab outlives all of them. Rows are handed out in runs of
// neighbours where it can, so that transfers of consecutive blocks coalesce.
//
// A shared slab is a memory file without a name: it goes with the last process that maps it, however that
// ends. Pages before and behind the slab cannot be touched.
//
// Threads: take() and the end of a Row may come from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

enum class HugePages : std::uint8_t {
  automatic,  ///< asked for, not insisted on
  always,     ///< 2 MiB pages that the operator has set aside (vm.nr_hugepages), or none at all
  never,
};

struct RowPoolOptions {
  Bytes row_bytes{};     ///< of a block
  std::size_t rows = 0;  ///< the cap
  bool shared = false;   ///< in a memory file that has no name: other processes can map descriptor()
  HugePages huge_pages = HugePages::automatic;
  int numa_node = -1;  ///< bind to this node; -1: leave it to the kernel
  bool touch = true;   ///< fault all pages in now, so that running out of memory shows at the start
};

class RowPool;

/// How many rows one user of a pool may have at a time. A row counts from its take() until it is back.
class RowQuota {
 public:
  explicit RowQuota(std::size_t limit) : limit_(limit) {}
  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] std::size_t used() const { return used_.load(); }
  /// All of `count` or none; used() never exceeds limit(), whoever else takes at the same time.
  [[nodiscard]] bool take(std::size_t count);
  void give_back(std::size_t count) { used_.fetch_sub(count); }

 private:
  std::size_t limit_;
  std::atomic<std::size_t> used_ = 0;
};

/// One row, owned. Empty after a move.
class Row {
 public:
  Row() = default;
  Row(Row&& other) noexcept;
  Row& operator=(Row&& other) noexcept;
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row();

  [[nodiscard]] explicit operator bool() const { return pool_ != nullptr; }
  [[nodiscard]] std::byte* data() const;
  [[nodiscard]] std::span<std::byte> bytes() const;  ///< row_bytes() of them
  [[nodiscard]] std::size_t index() const { return index_; }
  /// What the row counts against; null where it is nobody's in particular.
  [[nodiscard]] const RowQuota* quota() const { return quota_.get(); }

 private:
  friend class RowPool;
  Row(std::shared_ptr<RowPool> pool, std::shared_ptr<RowQuota> quota, std::size_t index);
  std::shared_ptr<RowPool> pool_;
  std::shared_ptr<RowQuota> quota_;
  std::size_t index_ = 0;
};

class RowPool : public std::enable_shared_from_this<RowPool> {
 public:
  /// Kinds: bad_input (no rows, no bytes), no_memory (with the bytes wanted, the limit that they meet and
  /// what to lower; asked beforehand where the pages are touched), unsupported (huge pages or a NUMA node
  /// insisted on and not to be had), permission (likewise, forbidden), file_limit (no descriptor for the
  /// memory file).
  static Result<std::shared_ptr<RowPool>> create(const RowPoolOptions& options);
  ~RowPool();
  RowPool(const RowPool&) = delete;
  RowPool& operator=(const RowPool&) = delete;

  /// All of `count` rows, neighbours where it can, or nothing. They count against `quota` where there is one.
  [[nodiscard]] std::optional<std::vector<Row>> take(std::size_t count,
                                                     const std::shared_ptr<RowQuota>& quota = nullptr);
  [[nodiscard]] std::size_t free_rows() const;
  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] Bytes row_bytes() const;
  /// Distance of neighbours: row_bytes() rounded up to 4096.
  [[nodiscard]] std::size_t stride() const;
  /// All rows, for registering with a device.
  [[nodiscard]] std::span<std::byte> memory() const;
  /// Of the memory file, or -1.
  [[nodiscard]] int descriptor() const;
  /// What was really got: "2 MiB pages, node 0, shared", "4 KiB pages". Never weaker silently.
  [[nodiscard]] const std::string& description() const;

 private:
  friend class Row;
  class Impl;
  explicit RowPool(std::unique_ptr<Impl> impl);
  void give_back(std::size_t index);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fulcrum
