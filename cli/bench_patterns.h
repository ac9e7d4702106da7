// Reference patterns: how caches that keep one file for each block read it, in two ways. Written from their
// description, for comparison; nobody's code.
//
//   four_readers        one pool of 4 blocking threads serves the blocks of all requests in order
//   thread_per_request  each request has a thread of its own
//
// A block is open, read, close, O_DIRECT where the filesystem has it. A request can begin when all of its
// blocks are there. The buffers are reused, which favours the pattern.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/bench_store.h"

namespace fulcrum::cli {

enum class ReadPattern { four_readers, thread_per_request };

class FilePerBlock {
 public:
  /// Writes the files into `directory`, which exists. Kinds: no_space, device, file_limit, interrupted.
  static Result<std::unique_ptr<FilePerBlock>> write(const std::string& directory, BenchBlocks& blocks,
                                                     const std::atomic<bool>& stop);

  struct Times {
    Seconds all{};
    Seconds request_mean{};  ///< until a request has all of its blocks
  };
  /// Reads all blocks as `requests` equal requests. Kinds: device, interrupted, internal (wrong bytes).
  Result<Times> read(ReadPattern pattern, std::size_t requests);
  [[nodiscard]] bool direct() const { return direct_; }

 private:
  struct Work;
  FilePerBlock(std::string directory, const BenchBlocks& blocks, const std::atomic<bool>& stop)
      : directory_(std::move(directory)), blocks_(blocks), stop_(stop) {}
  [[nodiscard]] std::string path_of(std::size_t block) const;
  Result<void> write_one(std::size_t block, std::span<std::byte> row);
  [[nodiscard]] int read_one(std::size_t block, std::span<std::byte> row) const;
  void serve(Work& work, std::size_t begin, std::size_t end) const;

  std::string directory_;
  const BenchBlocks& blocks_;
  const std::atomic<bool>& stop_;
  bool direct_ = true;
  SteadyClock clock_;
};

}  // namespace fulcrum::cli
