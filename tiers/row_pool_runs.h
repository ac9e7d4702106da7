// RowRuns: which rows of a slab are free, as runs of neighbours. O(log n); bounded by the rows.
//
// Taking prefers the shortest run that is long enough, so that long runs stay for those who need them; where
// there is none, the longest runs together.
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace fulcrum {

class RowRuns {
 public:
  explicit RowRuns(std::size_t rows) { add(0, rows); }

  [[nodiscard]] std::size_t free() const { return free_; }
  /// Runs of neighbours: 1 while nothing is in pieces.
  [[nodiscard]] std::size_t runs() const { return by_begin_.size(); }

  /// Appends `count` <= free() indices to `out`.
  void take(std::size_t count, std::vector<std::size_t>& out) {
    while (count > 0) {
      auto fit = by_length_.lower_bound({count, 0});
      if (fit == by_length_.end()) fit = std::prev(by_length_.end());
      const auto [length, begin] = *fit;
      const std::size_t taken = std::min(length, count);
      remove(begin, length);
      if (taken < length) add(begin + taken, length - taken);
      for (std::size_t i = 0; i < taken; ++i) out.push_back(begin + i);
      count -= taken;
    }
  }

  void give_back(std::size_t index) {
    std::size_t begin = index;
    std::size_t length = 1;
    const auto behind = by_begin_.lower_bound(index);
    if (behind != by_begin_.begin()) {
      const auto [before, size] = *std::prev(behind);
      if (before + size == index) {
        begin = before;
        length += size;
      }
    }
    if (behind != by_begin_.end() && behind->first == index + 1) {
      length += behind->second;
      remove(index + 1, behind->second);
    }
    if (begin < index) remove(begin, index - begin);
    add(begin, length);
  }

 private:
  void add(std::size_t begin, std::size_t length) {
    if (length == 0) return;
    by_begin_.emplace(begin, length);
    by_length_.emplace(length, begin);
    free_ += length;
  }
  void remove(std::size_t begin, std::size_t length) {
    by_begin_.erase(begin);
    by_length_.erase({length, begin});
    free_ -= length;
  }

  std::map<std::size_t, std::size_t> by_begin_;              ///< begin -> length
  std::set<std::pair<std::size_t, std::size_t>> by_length_;  ///< (length, begin)
  std::size_t free_ = 0;
};

}  // namespace fulcrum
