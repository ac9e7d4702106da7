// What a block's row holds when no model wrote it: bytes that follow from the key and cannot be compressed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "fulcrum/key.h"

namespace fulcrum::cli {

/// The 64-bit words of a row, one after the other (SplitMix64 from the key).
class RowContent {
 public:
  explicit RowContent(const BlockKey& key) : state_(key.high ^ (key.low * 0x9e3779b97f4a7c15ULL)) {}
  std::uint64_t next() {
    std::uint64_t word = state_ += 0x9e3779b97f4a7c15ULL;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31);
  }

 private:
  std::uint64_t state_;
};

inline void fill_row(const BlockKey& key, std::span<std::byte> row) {
  RowContent content(key);
  for (std::size_t at = 0; at < row.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = content.next();
    std::memcpy(row.data() + at, &word, std::min(sizeof word, row.size() - at));
  }
}

/// Where a row first differs from what its key says, if it does.
inline std::optional<std::size_t> first_difference(const BlockKey& key, std::span<const std::byte> row) {
  RowContent content(key);
  for (std::size_t at = 0; at < row.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = content.next();
    const std::size_t size = std::min(sizeof word, row.size() - at);
    if (std::memcmp(row.data() + at, &word, size) == 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      if (row[at + i] != reinterpret_cast<const std::byte*>(&word)[i]) return at + i;
    }
  }
  return std::nullopt;
}

}  // namespace fulcrum::cli
