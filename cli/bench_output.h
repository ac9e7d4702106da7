// What `fulcrum bench io` prints and writes.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/bench_io.h"

namespace fulcrum::cli {

struct BenchReport {
  std::string directory;
  Bytes bytes{};
  std::vector<BenchIoRow> rows;  ///< one a block size
  std::size_t headline = 0;      ///< the row whose ratios stand at the top of the JSON
  BenchStall stall;
};

void print_bench(std::ostream& out, const BenchReport& report);
[[nodiscard]] std::string bench_json(const BenchReport& report);

}  // namespace fulcrum::cli
