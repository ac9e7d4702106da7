// io_uring engine: one ring for all files of a device, submission in batches, registered files and optional
// buffers.
//
// The ring must be driven by one thread at a time. Kernel features that are refused are dropped one by one;
// none of them changes results.
#pragma once

#include <cstddef>
#include <memory>

#include "tiers/file_set.h"
#include "tiers/io_engine.h"

namespace fulcrum {

struct UringOptions {
  std::size_t depth_max = 256;
  Seconds close_limit = Seconds(5);
};

/// Kinds: permission (io_uring is switched off or seccomp forbids it), unsupported (old kernel, or a build
/// without liburing), no_memory, file_limit.
[[nodiscard]] Result<std::unique_ptr<IoEngine>> make_uring_engine(std::shared_ptr<const FileSet> files,
                                                                  const UringOptions& options);

}  // namespace fulcrum
