// Valuation: what is worth doing. One interface, one implementation that is the product (BreakEven) and the
// baselines that it is compared with (policy/baselines.h).
//
// Pure: answers depend on the arguments alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "fulcrum/decision.h"
#include "fulcrum/policy.h"
#include "policy/costs.h"

namespace fulcrum {

/// Where blocks go when the GPU has computed them.
enum class Placement {
  nowhere,
  first_tier,  ///< lower tiers get what leaves the one above
  every_tier,  ///< written through
};

/// What is known of a run of blocks, when it is asked what they are worth.
struct BlockUse {
  Tokens from{};
  Tokens to{};
  Tokens reach{};          ///< where the chain ends that they are part of
  Seconds used{};          ///< last use
  std::uint64_t tick = 0;  ///< number of the last use
  std::uint32_t uses = 1;
};

class Valuation {
 public:
  virtual ~Valuation() = default;

  /// Which alternative to take; 0, the first one, is to recompute all.
  [[nodiscard]] virtual std::size_t choose(std::span<const Alternative> alternatives, Seconds lead,
                                           double gpu_price) const = 0;
  /// How long a load that saves `saved` may be waited for. Infinite: for ever.
  [[nodiscard]] virtual Seconds patience(Seconds saved) const = 0;
  [[nodiscard]] virtual Placement placement() const = 0;
  /// Are blocks worth holding in a tier at all, if their chain ends at `reach`?
  [[nodiscard]] virtual bool admits(TierId tier, Tokens reach) const = 0;
  /// Worth of holding blocks in a tier: what has least leaves first. Only comparisons within a tier mean
  /// anything, and they do not change while time passes.
  [[nodiscard]] virtual double worth(TierId tier, const BlockUse& use) const = 0;
};

/// The part of a policy that choice rests on: enough to take a logged decision again.
struct Rule {
  Strategy strategy = Strategy::break_even;
  Seconds margin{};
  double stop_loss = 1;
  Tokens threshold{};
  bool operator==(const Rule&) const = default;
};
[[nodiscard]] Rule rule_of(const PolicyConfig& policy);

/// `choose` of the strategy, without a valuation's other knowledge.
[[nodiscard]] std::size_t choose(const Rule& rule, std::span<const Alternative> alternatives, Seconds lead,
                                 double gpu_price);

/// `costs` outlives the valuation.
[[nodiscard]] std::unique_ptr<Valuation> make_valuation(const PolicyConfig& policy, const Costs& costs);

/// Load, hold and admit by predicted seconds saved.
///   load    if  gpu_price*saved > exposed + margin  and  exposed <= stop_loss*saved;  most gain wins
///   admit   if  gain(tier, reach) > margin
///   worth   =   log2(chance of another use * seconds saved per token) + last use / half-life
/// With one half-life for all, the order by chance*saving decayed with age never changes by itself.
class BreakEven final : public Valuation {
 public:
  BreakEven(const PolicyConfig& policy, const Costs& costs);

  static std::size_t most_gain(const Rule& rule, std::span<const Alternative> alternatives, Seconds lead,
                               double gpu_price);

  [[nodiscard]] std::size_t choose(std::span<const Alternative> alternatives, Seconds lead,
                                   double gpu_price) const override;
  [[nodiscard]] Seconds patience(Seconds saved) const override;
  [[nodiscard]] Placement placement() const override { return Placement::first_tier; }
  [[nodiscard]] bool admits(TierId tier, Tokens reach) const override;
  [[nodiscard]] double worth(TierId tier, const BlockUse& use) const override;

 private:
  Rule rule_;
  double reuse_prior_;
  Seconds half_life_;
  const Costs& costs_;
};

}  // namespace fulcrum
