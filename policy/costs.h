// Costs: what the profile says about this policy's tiers, at the policy's quantiles, ready for the hot path.
//
// Loads are judged at `load_quantile`: each parameter stands between its measured value and the unfavourable
// end of its interval, and the interval is first widened where the tier's verdict is not `good`.
// Recomputation is judged at `compute_quantile` (PrefillCost::marginal). Symbols: docs/break_even.md.
// Changed by set_speed() alone.
#pragma once

#include <array>

#include "fulcrum/cost.h"
#include "fulcrum/decision.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "policy/tier_index.h"

namespace fulcrum {

class Costs {
 public:
  /// `policy` has been checked against `profile`, which has prefill costs.
  Costs(const PolicyConfig& policy, const MachineProfile& profile);

  [[nodiscard]] TierId tiers() const { return tiers_; }
  [[nodiscard]] Tokens block_tokens() const { return block_tokens_; }
  [[nodiscard]] Bytes block_bytes() const { return block_bytes_; }
  [[nodiscard]] BytesPerToken kappa() const { return kappa_; }
  /// KV bytes that every load carries beside its blocks: full windows and linear states.
  [[nodiscard]] Bytes fixed_bytes() const { return fixed_bytes_; }
  [[nodiscard]] const TransferLaw& slow(TierId tier) const { return slow_[index_of(tier)]; }
  [[nodiscard]] const TransferLaw& typical(TierId tier) const { return typical_[index_of(tier)]; }
  [[nodiscard]] const PrefillLaw& prefill() const { return prefill_; }

  /// Loads from a tier take `factor` times as long as was measured.
  void set_speed(TierId tier, double factor);

  /// Recomputation of [from, to) that a load surely saves; not below 0.
  [[nodiscard]] Seconds saved(Tokens from, Tokens to) const;
  /// Seconds that loading all of a prefix from an idle tier gains: saved(0, reach) - l - kappa*reach/B.
  [[nodiscard]] Seconds gain(TierId tier, Tokens reach) const;
  /// Seconds that one token at `position` gains on its own, set-up apart: alpha + beta*p - s.
  [[nodiscard]] double marginal(TierId tier, double position) const;

 private:
  TierId tiers_ = 0;
  Tokens block_tokens_{};
  Bytes block_bytes_{};
  Bytes fixed_bytes_{};
  BytesPerToken kappa_{};
  PrefillLaw prefill_;
  MarginalLaw compute_;
  std::array<TransferLaw, kMaxTiers> slow_{};
  std::array<TransferLaw, kMaxTiers> typical_{};
  std::array<double, kMaxTiers> speed_{};  ///< factors that are in the laws
};

/// Priced seconds of a GPU second at utilisation rho: 1/(1-rho)^2, at most 25. One more second of work
/// delays all that queue behind it: processor sharing loses rho/(1-rho), whose derivative this is.
[[nodiscard]] double gpu_price(double utilisation);

}  // namespace fulcrum
