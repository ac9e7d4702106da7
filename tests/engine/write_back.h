// WriteBack: the engine's own code before a simulated array of turning disks that is a little too slow for
// what a host offers, in simulated time and in one thread.
//
// The figures are those of an inference host with eight GPUs: 320 KiB of KV a token, so blocks of 16 tokens
// have 5 MiB; 0.7 GB/s of them through 30 GiB of memory; an array that writes 692 MB/s in order, and a ninth
// of what is offered where every block is committed on its own. A commit moves the head twice, to the journal
// and back, so a movement takes what makes that so. All bytes are a quarter of these, times are not; bytes
// of rows are neither copied nor kept.
//
// A host offers chains of four lengths, by lot and once each: the longer, the more a block of it saves.
// Threads: one. Deterministic.
#pragma once

#include <cstdint>

#include "fulcrum/units.h"
#include "tests/support/array_device.h"

namespace fulcrum::test {

struct WriteBackOptions {
  static constexpr double kIdeal = 692e6;  ///< bytes/s
  static constexpr Bytes kBlock{std::int64_t{5} << 20};
  static constexpr double kStream = 0.7e9;  ///< bytes/s
  static constexpr double kLoss = 9;        ///< of the stream, where a commit is one block

  Bytes commit{};  ///< 0: as the engine chooses by the profile
  Bytes in_flight{std::int64_t{64} << 20};
  Bytes disk{std::int64_t{4} << 40};  ///< so large that it does not fill up
  double offered = kStream;
  double shed_by_lot = 0;  ///< mutant: the host drops this share of its chains before the engine sees them
  Seconds warm_up{120};
  Seconds length{120};
  std::uint64_t seed = 1;
};

struct WriteBackFigures {
  double rate = 0;  ///< bytes/s of blocks that could be read in the array
  ArrayLedger ledger;
  double offered_blocks = 0;
  double shed_blocks = 0;    ///< of chains offered in the time that counts
  double value_kept = 0;     ///< seconds that a block saves when it is asked for again, mean
  double value_shed = 0;     ///< likewise
  double value_offered = 0;  ///< likewise
  [[nodiscard]] double ratio() const { return rate / WriteBackOptions::kIdeal; }
  /// Bytes between two visits of the journal.
  [[nodiscard]] double between_visits() const;
};

/// Seconds of one movement of the array's head.
[[nodiscard]] Seconds array_move();
/// What the engine chooses.
[[nodiscard]] Bytes chosen_commit();
/// Rate of the array alone, in bytes/s: commits of so many bytes, one after the other, each with its record.
[[nodiscard]] double bare_commits(Bytes commit);
[[nodiscard]] WriteBackFigures write_back(const WriteBackOptions& options);

}  // namespace fulcrum::test
