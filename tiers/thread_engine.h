// Thread engine: blocking calls (pread, pwrite, fallocate, fdatasync) in a pool of threads, where io_uring is
// not to be had.
#pragma once

#include <cstddef>
#include <memory>

#include "tiers/file_set.h"
#include "tiers/io_engine.h"
#include "tiers/raw_io.h"

namespace fulcrum {

struct ThreadEngineOptions {
  std::size_t depth_max = 256;   ///< requests in flight: bounds both queues
  std::size_t threads_max = 64;  ///< started as they are needed
  Seconds close_limit = Seconds(5);
  std::shared_ptr<RawIo> raw_io = nullptr;
};

[[nodiscard]] std::unique_ptr<IoEngine> make_thread_engine(std::shared_ptr<const FileSet> files,
                                                           const ThreadEngineOptions& options);

}  // namespace fulcrum
