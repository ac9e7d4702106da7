// Samples: every timing that a storage probe took, in the order of time. They stand beside the profile as
// CSV, so that anyone can check what was made of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/stats.h"
#include "calibrate/tally.h"
#include "fulcrum/units.h"

namespace fulcrum::calibrate {

enum class CellKind {
  fill,        ///< rate of the first write of the file, piece by piece
  reference,   ///< rate of one and the same traffic, again and again: shows drift
  surface,     ///< rate of one load at an I/O size and depth
  load,        ///< rate of several loads at once
  setup,       ///< seconds until a small read at a random place has arrived
  whole,       ///< seconds for a whole load, first submit to last byte
  first_read,  ///< rate of a load that was not read lately
  again,       ///< rate of the same load read once more at once
  run_length,  ///< rate of whole runs of io_size bytes at random places (turning media)
  write,       ///< rate of writes at an I/O size and depth
  commit,      ///< rate of writing runs of io_size bytes and making each durable
  idle,        ///< rate of one load, taken beside ...
  beside,      ///< ... the rate of one load while writes go on
  after,       ///< rate of one load right after a burst of writes
  ramp,        ///< rate of a long write, piece by piece
  rested,      ///< rate of a short write after a rest: has the write cache recovered?
  near_copy,   ///< rate of copying memory of the own NUMA node, taken beside ...
  far_copy,    ///< ... the rate of copying from the farthest node
};
[[nodiscard]] std::string_view to_string(CellKind kind);

/// What was done; equal cells are repeats of one measurement.
struct Cell {
  CellKind kind = CellKind::reference;
  Bytes io_size{};
  int depth = 1;
  int loads = 1;
  bool operator==(const Cell&) const = default;
};

struct Sample {
  Cell cell;
  Seconds at{};      ///< since the probe began
  double value = 0;  ///< bytes/s or seconds, as CellKind says
  RunResult run;
};

class Samples {
 public:
  void add(const Sample& sample) { all_.push_back(sample); }
  [[nodiscard]] const std::vector<Sample>& all() const { return all_; }
  [[nodiscard]] std::vector<double> values(const Cell& cell) const;
  /// Whether the cell has `least` values and their median's interval is within `target`.
  [[nodiscard]] bool settled(const Cell& cell, int least, double target) const;
  /// All values of a kind, in the order of time.
  [[nodiscard]] std::vector<double> values(CellKind kind) const;
  /// Different cells of a kind, in order of first appearance.
  [[nodiscard]] std::vector<Cell> cells(CellKind kind) const;
  /// CSV rows without a head: tier,kind,io_size_B,depth,loads,at_s,value,bytes,p50_s,p99_s,cpu_share.
  [[nodiscard]] std::string csv(std::string_view tier) const;
  [[nodiscard]] static std::string_view csv_head();

 private:
  std::vector<Sample> all_;
};

}  // namespace fulcrum::calibrate
