// The fuzz targets: one reader of untrusted bytes each, with the laws that hold whatever the bytes are.
//
//   superblock, extent_header   a page, its checksum put right where the input asks for it
//   journal                     a journal half, from its batches to the state that recovery makes of them
//   store                       a whole store whose bytes were changed: opened, read, written, closed, opened
//   profile, policy             YAML
//   trace                       lines of each format
//   decision                    a line of the decision log
//
// Laws of all: no crash, no hang, bounded memory; what was read is written and read again as the same; what
// is refused is told with its place and the next step. The laws of each stand in its source and in laws.h.
// Deterministic: an input always does the same. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string_view>

#include "tests/fuzz/input.h"

namespace fulcrum::fuzz {

/// Runs one input. Returns whether the reader has taken it. Throws LawBroken.
using Run = bool (*)(std::span<const std::byte> input);

bool run_superblock(std::span<const std::byte> input);
bool run_extent_header(std::span<const std::byte> input);
bool run_journal(std::span<const std::byte> input);
bool run_store(std::span<const std::byte> input);
bool run_profile(std::span<const std::byte> input);
bool run_policy(std::span<const std::byte> input);
bool run_trace(std::span<const std::byte> input);
bool run_decision(std::span<const std::byte> input);

struct Target {
  std::string_view name;
  Run run;
  std::uint64_t mutants;  ///< that a quick run tries
  /// How test programs print it.
  friend std::ostream& operator<<(std::ostream& out, const Target& target) { return out << target.name; }
};
inline constexpr Target kTargets[] = {
    {"superblock", run_superblock, 2000}, {"extent_header", run_extent_header, 2000},
    {"journal", run_journal, 2000},       {"store", run_store, 200},
    {"profile", run_profile, 2000},       {"policy", run_policy, 2000},
    {"trace", run_trace, 2000},           {"decision", run_decision, 2000},
};

}  // namespace fulcrum::fuzz
