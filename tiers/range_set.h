// RangeSet: which bytes of a flat space are in a set, kept as ranges that neither touch nor overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace fulcrum {

class RangeSet {
 public:
  /// Adds [begin, end).
  void add(std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    total_ += missing(begin, end);
    auto first = ends_.upper_bound(begin);
    if (first != ends_.begin() && std::prev(first)->second >= begin) {
      --first;
      begin = first->first;
    }
    while (first != ends_.end() && first->first <= end) {
      end = std::max(end, first->second);
      first = ends_.erase(first);
    }
    ends_.emplace(begin, end);
  }

  /// Bytes of [begin, end) that are not in the set.
  [[nodiscard]] std::int64_t missing(std::int64_t begin, std::int64_t end) const {
    std::int64_t out = std::max<std::int64_t>(end - begin, 0);
    auto range = ends_.upper_bound(begin);
    if (range != ends_.begin()) --range;
    for (; range != ends_.end() && range->first < end; ++range) {
      out -= std::max<std::int64_t>(std::min(end, range->second) - std::max(begin, range->first), 0);
    }
    return out;
  }

  /// Bytes in the set.
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  std::map<std::int64_t, std::int64_t> ends_;  ///< begin of each range -> its end
  std::int64_t total_ = 0;
};

}  // namespace fulcrum
