// Writing, for `fulcrum bench io`: new segments filled by the engine, and files of the same size filled by
// the bare loop. Both take their space from the filesystem within the time that counts.
#pragma once

#include <atomic>
#include <string>

#include "cli/bench_store.h"
#include "fulcrum/result.h"
#include "tiers/uring_bare_loop.h"

namespace fulcrum::cli {

/// Bytes/s from the first store() until the tier has reported all blocks. Makes and removes its own store
/// below `directory`; `store.directory` does not matter.
[[nodiscard]] Result<double> engine_write_rate(const std::string& directory, BenchStoreOptions store,
                                               BenchBlocks& blocks, const std::atomic<bool>& stop);
[[nodiscard]] Result<double> bare_write_rate(const std::string& directory, Bytes bytes,
                                             const BareSetting& setting, const std::atomic<bool>& stop);

}  // namespace fulcrum::cli
