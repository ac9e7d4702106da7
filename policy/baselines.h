// Baselines: what the product is compared with, and the mutants that its tests must be able to reject.
#pragma once

#include "policy/valuation.h"

namespace fulcrum {

/// The deepest alternative if it ends at `least` tokens or beyond, 0 otherwise.
[[nodiscard]] std::size_t deepest(std::span<const Alternative> alternatives, Tokens least);

/// Loads whatever is found, of `threshold` tokens at least; writes everything through to every tier; the
/// least recently used leaves first, the back of a chain before its front. Waits for ever.
class LoadAlways final : public Valuation {
 public:
  explicit LoadAlways(Tokens threshold) : threshold_(threshold) {}

  [[nodiscard]] std::size_t choose(std::span<const Alternative> alternatives, Seconds lead,
                                   double gpu_price) const override;
  [[nodiscard]] Seconds patience(Seconds saved) const override;
  [[nodiscard]] Placement placement() const override { return Placement::every_tier; }
  [[nodiscard]] bool admits(TierId tier, Tokens reach) const override;
  [[nodiscard]] double worth(TierId tier, const BlockUse& use) const override;

 private:
  Tokens threshold_;
};

/// Never loads and never writes.
class None final : public Valuation {
 public:
  [[nodiscard]] std::size_t choose(std::span<const Alternative> alternatives, Seconds lead,
                                   double gpu_price) const override;
  [[nodiscard]] Seconds patience(Seconds saved) const override;
  [[nodiscard]] Placement placement() const override { return Placement::nowhere; }
  [[nodiscard]] bool admits(TierId tier, Tokens reach) const override;
  [[nodiscard]] double worth(TierId tier, const BlockUse& use) const override;
};

}  // namespace fulcrum
