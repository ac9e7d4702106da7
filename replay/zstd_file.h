// LineReader: the lines of a text file, packed with zstd or plain (told apart by the first four bytes).
//
// Memory is bounded: the unpacking window (at most 2^27 bytes, as `zstd --long=27` writes) plus one line.
// Files: zstd_file.cc is the only user of zstd. Threads: one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "fulcrum/result.h"

namespace fulcrum::replay {

class LineReader {
 public:
  static constexpr std::size_t kLineMax = std::size_t{64} << 20;

  /// Kinds: not_found, permission, bad_input (a directory), and those of a failed read.
  static Result<LineReader> open(const std::string& path);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  /// Sets `line` to the next line, without its end and without a carriage return; it stays valid until the
  /// next call. False at the end of the file. Kinds: corrupt (damaged or cut-off packing), bad_input (a line
  /// longer than kLineMax), and those of a failed read.
  Result<bool> next(std::string_view& line);
  /// Number of the line that next() gave last, from 1.
  [[nodiscard]] std::size_t number() const;

 private:
  class Impl;
  explicit LineReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fulcrum::replay
