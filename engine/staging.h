// Staging: rows for blocks that are on their way, counted against a cap of their own in a shared RowPool.
//
// Threads: take() one at a time; rows may end anywhere.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tiers/dram_tier.h"
#include "tiers/row_pool.h"

namespace fulcrum::engine {

/// A row that is being filled; shared for reading once it is.
using StagedRow = std::shared_ptr<Row>;

class Staging {
 public:
  Staging(std::shared_ptr<RowPool> pool, std::size_t rows)
      : pool_(std::move(pool)), rows_(rows), used_(std::make_shared<std::atomic<std::size_t>>(0)) {}

  /// As many as there are, at most `wanted`, at least `least`; else none.
  [[nodiscard]] std::vector<StagedRow> take(std::size_t wanted, std::size_t least = 1) {
    const std::size_t count = std::min(wanted, free_rows());
    if (count < least || count == 0) return {};
    std::optional<std::vector<Row>> rows = pool_->take(count);
    if (!rows) return {};
    std::vector<StagedRow> staged;
    staged.reserve(count);
    for (Row& row : *rows) {
      used_->fetch_add(1);
      staged.push_back(StagedRow(new Row(std::move(row)), [used = used_](Row* gone) {
        delete gone;
        used->fetch_sub(1);
      }));
    }
    return staged;
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t free_rows() const {
    const std::size_t used = used_->load();
    return used >= rows_ ? 0 : rows_ - used;
  }

 private:
  std::shared_ptr<RowPool> pool_;
  std::size_t rows_;
  std::shared_ptr<std::atomic<std::size_t>> used_;
};

}  // namespace fulcrum::engine
