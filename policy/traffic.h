// Traffic: the loads of each tier, in flight and held back, and when a further one would be done.
//
// The decider issues every load, so the bytes that each still has to move are known, up to the speed of the
// device; progress is that of a fluid shared equally: X(N)/N each. At most `gate` loads of a tier are in
// flight; others wait in a bounded queue, where the one that saves most seconds per byte is next. Preloads
// come after all loads.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "policy/costs.h"
#include "policy/node.h"

namespace fulcrum {

class Traffic {
 public:
  static constexpr std::size_t kQueueMost = 1024;
  static constexpr int kNoGate = std::numeric_limits<int>::max();

  /// `gates[t]`: loads of tier t at once. `costs` outlives this.
  Traffic(const Costs& costs, const std::array<int, kMaxTiers>& gates) : costs_(&costs), gates_(gates) {}

  void advance(Seconds now);

  /// Queues a load. Urgent ones (a request waits) come before those that are not.
  void enqueue(TierId tier, OrderId order, Bytes bytes, double saved_per_byte, bool urgent);
  /// The queued load that may start now; it counts as in flight from here on.
  std::optional<OrderId> start_next(TierId tier);
  /// Takes a load out, in flight or queued.
  void remove(TierId tier, OrderId order);

  /// Whether loads of a tier may start at all.
  void set_open(TierId tier, bool open) {
    open_ = static_cast<TierMask>(open ? open_ | bit(tier) : open_ & ~bit(tier));
  }
  /// Tiers that can be read.
  [[nodiscard]] TierMask open() const { return open_; }

  /// A queued load is waited for now.
  void hurry(TierId tier, OrderId order);
  /// No further plan should count on the queue; it still takes what one plan may need.
  [[nodiscard]] bool full(TierId tier) const { return lane(tier).queue.size() >= kQueueMost; }
  [[nodiscard]] int in_flight(TierId tier) const { return static_cast<int>(lane(tier).flows.size()); }
  [[nodiscard]] int queued(TierId tier) const { return static_cast<int>(lane(tier).queue.size()); }

  /// Time until a load of `bytes` that is asked for now would be done. `law` is the tier's, slow or typical.
  [[nodiscard]] Seconds finish(TierId tier, Bytes bytes, const TransferLaw& law) const;
  /// Time until a load that is in flight or queued will be done.
  [[nodiscard]] Seconds residual(TierId tier, OrderId order, const TransferLaw& law) const;

 private:
  struct Flow {
    OrderId order = 0;
    double left = 0;   ///< bytes
    double least = 0;  ///< a load that is overdue is not believed to be done
  };
  struct Queued {
    OrderId order = 0;
    double bytes = 0;
    double saved_per_byte = 0;
    bool urgent = true;
    [[nodiscard]] bool before(const Queued& other) const;
  };
  struct Lane {
    std::vector<Flow> flows;
    std::vector<Queued> queue;
  };
  [[nodiscard]] const Lane& lane(TierId tier) const { return lanes_[index_of(tier)]; }
  [[nodiscard]] Lane& lane(TierId tier) { return lanes_[index_of(tier)]; }
  [[nodiscard]] bool closed(TierId tier) const;
  [[nodiscard]] Seconds behind_all(TierId tier, double bytes, const TransferLaw& law) const;

  const Costs* costs_;
  std::array<int, kMaxTiers> gates_;
  std::array<Lane, kMaxTiers> lanes_{};
  TierMask open_ = 0xFF;
  Seconds now_{};
};

}  // namespace fulcrum
