// ProbePlan: what the storage probe will do, decided before anything is touched. Plain data: tests and the
// dry run read the same plan that the probe carries out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/load_runner.h"
#include "calibrate/payload.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum::calibrate {

struct ProbePlan {
  Bytes file{};          ///< size of the scratch file
  Seconds fill_limit{};  ///< filling stops here once fill_least is reached
  Bytes fill_least{};
  Bytes arena{};          ///< most bytes in flight
  Bytes write_most{};     ///< bytes that the probe may write, the file included
  Bytes ramp{};           ///< length of the write that looks for a write cache; 0: none
  Seconds rest_first{1};  ///< shortest rest of a full write cache
  Seconds rest_most{};    ///< all rests together; 0: its recovery is not waited for

  std::vector<Bytes> io_sizes;  ///< of the read surface, with `depths`
  std::vector<int> depths;
  std::vector<Bytes> write_sizes;  ///< of the write surface, with `write_depths`
  std::vector<int> write_depths;
  std::vector<int> loads;          ///< levels of concurrency
  std::vector<Bytes> commits;      ///< sizes of durable writes
  std::vector<Bytes> wholes;       ///< lengths of whole loads, to check the prediction
  std::vector<Bytes> run_lengths;  ///< of turning media; empty for flash
  Bytes reference_io{};
  int reference_depth = 4;

  Window window;            ///< of reads
  Window write_window;      ///< of writes: short, and bounded in bytes
  int repeats = 6;          ///< of surface cells: the fewest that make a 95 % interval of a median
  int settle_least = 10;    ///< repeats of the numbers that decisions rest on ...
  int settle_most = 20;     ///< ... and when to give up on narrowing their intervals
  double target = 0.03;     ///< half width of their intervals
  int setups = 10;          ///< small reads in each round
  Seconds latency_most{};   ///< depths that take longer are not worth having
  double write_back = 0.5;  ///< rate of the writes beside reads, as a share of the write rate
  Seconds time_limit{};     ///< of each phase
  std::uint64_t seed = 1;
  PayloadKind payload = PayloadKind::incompressible;
};

/// About a minute on a drive of 1 GB/s or more.
[[nodiscard]] ProbePlan quick_plan(std::uint64_t seed);
/// For sign-off: more repeats, a larger file, and a write long enough to fill a drive's cache.
[[nodiscard]] ProbePlan full_plan(std::uint64_t seed);
/// A medium that turns: few streams, long runs, a second for each sample.
[[nodiscard]] ProbePlan turning_plan(bool full, std::uint64_t seed);

/// Shrinks the plan so that it writes at most `budget` and leaves three quarters of `free_space` alone.
/// Kinds: no_space, bad_input (a budget too small to measure anything).
Result<ProbePlan> fit_to_space(ProbePlan plan, Bytes free_space, Bytes budget);

/// What the plan will do, for people: one line each.
[[nodiscard]] std::vector<std::string> describe(const ProbePlan& plan, Bytes filesystem);

}  // namespace fulcrum::calibrate
