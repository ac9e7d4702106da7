#include "calibrate/samples.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/document.h"

namespace fulcrum::calibrate {

std::string_view to_string(CellKind kind) {
  static constexpr std::array<std::string_view, 18> kNames = {
      "fill",  "reference", "surface", "load",   "setup", "whole", "first_read", "again",     "run_length",
      "write", "commit",    "idle",    "beside", "after", "ramp",  "rested",     "near_copy", "far_copy"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::vector<double> Samples::values(const Cell& cell) const {
  std::vector<double> found;
  for (const Sample& sample : all_) {
    if (sample.cell == cell) found.push_back(sample.value);
  }
  return found;
}

bool Samples::settled(const Cell& cell, int least, double target) const {
  const auto found = values(cell);
  return static_cast<int>(found.size()) >= least &&
         relative_half_width(median(found), median_interval(found)) <= target;
}

std::vector<double> Samples::values(CellKind kind) const {
  std::vector<double> found;
  for (const Sample& sample : all_) {
    if (sample.cell.kind == kind) found.push_back(sample.value);
  }
  return found;
}

std::vector<Cell> Samples::cells(CellKind kind) const {
  std::vector<Cell> found;
  for (const Sample& sample : all_) {
    if (sample.cell.kind == kind && std::find(found.begin(), found.end(), sample.cell) == found.end())
      found.push_back(sample.cell);
  }
  return found;
}

std::string_view Samples::csv_head() {
  return "tier,kind,io_size_B,depth,loads,at_s,value,bytes,p50_s,p99_s,cpu_share\n";
}

std::string Samples::csv(std::string_view tier) const {
  std::string text;
  std::array<char, 64> at{};
  for (const Sample& sample : all_) {
    std::snprintf(at.data(), at.size(), "%.4f", sample.at.value());
    text += std::string(tier) + ',' + std::string(to_string(sample.cell.kind)) + ',' +
            std::to_string(sample.cell.io_size.value()) + ',' + std::to_string(sample.cell.depth) + ',' +
            std::to_string(sample.cell.loads) + ',' + at.data() + ',' + format_exact(sample.value) + ',' +
            std::to_string(sample.run.bytes.value()) + ',' + format_exact(sample.run.latency_p50.value()) +
            ',' + format_exact(sample.run.latency_p99.value()) + ',' + format_exact(sample.run.cpu_share) +
            '\n';
  }
  return text;
}

}  // namespace fulcrum::calibrate
