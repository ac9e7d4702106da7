// What `fulcrum breakeven` says, without the printing: P* of every tier and B* along the prompt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fulcrum/cost.h"
#include "fulcrum/measured.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

struct BreakEvenQuestion {
  Seconds lead{};  ///< time that reads may run before the GPU is ready
  int loads = 1;   ///< loads at once on each tier
  std::optional<BytesPerSecond> bandwidth = std::nullopt;  ///< what if every tier gave one load this much
  std::optional<Seconds> setup = std::nullopt;             ///< what if every tier had this set-up latency
  std::vector<Tokens> positions = {Tokens(0),     Tokens(1024),  Tokens(4096),  Tokens(16384),
                                   Tokens(32768), Tokens(65536), Tokens(131072)};
  std::uint64_t seed = 1;
};

/// Does the tier deliver more than B*(p)?
enum class Clears { yes, perhaps, no };  ///< perhaps: the intervals overlap

struct TierBreakEven {
  std::string name;
  Measured<BytesPerSecond> rate;  ///< of one load among `loads`
  Measured<Seconds> setup;
  Measured<Tokens> break_even;
  std::vector<Clears> clears;  ///< one for each position
  /// For people: from which length on to read, and what to do below.
  [[nodiscard]] std::string sentence() const;
};

struct BreakEvenReport {
  std::string gpu;
  std::string model;
  BytesPerToken kappa{};
  Verdict prefill = Verdict::invalid;
  double alpha = 0;
  double beta = 0;
  int loads = 1;
  Seconds lead{};
  std::vector<Tokens> positions;
  std::vector<Measured<BytesPerSecond>> needed;  ///< B*(p), one for each position
  std::vector<TierBreakEven> tiers;
};

/// From a profile that has prefill costs; without tiers, a bandwidth in the question makes one named
/// "what-if". Kinds: bad_input (no prefill, no KV size, an impossible question).
[[nodiscard]] Result<BreakEvenReport> break_even_report(const MachineProfile& profile,
                                                        const BreakEvenQuestion& question);

/// "12,300", or "never".
[[nodiscard]] std::string to_text(Tokens prefix);

}  // namespace fulcrum
