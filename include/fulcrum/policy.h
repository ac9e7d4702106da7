// PolicyConfig: what the operator wants, as strict YAML. Every key has a default that is safe anywhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

/// Which engine of choice decides. All but `break_even` exist to be compared with.
enum class Strategy {
  break_even,   ///< the product: load, admit and evict by predicted seconds saved
  load_always,  ///< load whatever is found, write everything through, evict the least recently used
  threshold,    ///< as load_always, but loads only prefixes of at least `threshold_tokens`
  none,         ///< never loads, never writes
};
[[nodiscard]] std::string_view to_string(Strategy strategy);

struct TierPolicy {
  std::string name;                               ///< of this tier
  std::string profile;                            ///< the profile's tier with its costs; default: `name`
  Bytes capacity{};                               ///< bytes it may hold, in flight included
  std::optional<BytesPerSecond> write_limit;      ///< long-run write rate; none: what the device can take
  int gate = 0;                                   ///< loads at once; 0: N* from the profile
  std::optional<Bytes> write_limit_per_day = {};  ///< most bytes written in any 24 hours
  std::vector<std::string> paths = {};            ///< directories of a tier of files; several: it is striped
};

/// What the engine needs beside the tiers; simulations ignore it.
struct EnginePolicy {
  enum class HugePages { automatic, always, never };

  Bytes staging{std::int64_t{1} << 30};  ///< rows of loads and writes in flight
  Seconds deadline{60};                  ///< most that a load may take
  int copy_threads = 2;
  bool shared_memory = false;  ///< rows in a memory file that other processes can map
  HugePages huge_pages = HugePages::automatic;
  int numa_node = -1;  ///< -1: leave it to the kernel
  Bytes limbo{
      std::int64_t{256} << 20};  ///< rows that a device may keep after deadlines before it is given up
  bool replace_foreign =
      false;  ///< a directory of another namespace or format: true: start empty in its place
};

struct PolicyConfig {
  static constexpr int kVersion = 1;

  Strategy strategy = Strategy::break_even;
  Tokens block_tokens{512};
  std::vector<TierPolicy> tiers;                 ///< fastest first; writes enter the first one
  Tokens threshold_tokens{0};                    ///< for Strategy::threshold
  double load_quantile = 0.95;                   ///< loads are judged at this quantile of their time
  double compute_quantile = 0.05;                ///< recomputation at this quantile of its time
  double stop_loss = 1.0;                        ///< give up a load that was waited for this many times the
                                                 ///< recomputation that it replaces, and compute the rest
  Seconds margin{0};                             ///< least predicted gain that makes a load worth the trouble
  bool preload = true;                           ///< start reads while a request waits in the host's queue
  Bytes preload_staging{std::int64_t{4} << 30};  ///< bytes that preloads may hold at once
  double reuse_prior = 0.5;                      ///< chance that a new prefix is asked for again
  Seconds reuse_half_life{120};                  ///< age at which that chance has halved
  double gpu_price = 0;                          ///< priced seconds per GPU second; 0: 1/(1-rho)^2 of
                         ///< Request::gpu_load, at most 25 (theory: docs/break_even.md)

  EnginePolicy engine;

  /// Strict load: all problems at once, each with file:line:column and the nearest valid key.
  /// Kinds: not_found, permission, bad_input, mismatch (another version).
  static Result<PolicyConfig> load(const std::string& path);
  static Result<PolicyConfig> parse(const std::string& text, const std::string& where);
  /// Contradictions between policy and profile, e.g. a tier that the profile lacks, or a write path from
  /// the GPU straight to an HDD. Kinds: mismatch.
  [[nodiscard]] Result<void> check_against(const MachineProfile& profile) const;
  /// What the measured machine has no room for, one sentence each. No obstacle to a simulation, but to
  /// running.
  [[nodiscard]] std::vector<std::string> too_large_for(const MachineProfile& profile) const;
  /// The effective policy as YAML, each value with its origin ("default" or file:line) as a comment.
  [[nodiscard]] std::string to_yaml() const;

  /// "key" -> origin, filled by load(); used by to_yaml().
  std::vector<std::pair<std::string, std::string>> origins;
};

}  // namespace fulcrum
