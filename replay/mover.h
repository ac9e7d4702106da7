// Mover: carries the deciders' orders out on simulated devices and reports what became of them.
//
// Several deciders (private caches) may share the devices. An order between two tiers (demotion, preload)
// reads its source and then writes its target, but host memory costs it no time of its own: a drive reads
// into it and writes from it directly. Blocks of a load arrive front to back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "fulcrum/decision.h"
#include "fulcrum/profile.h"
#include "replay/tier_device.h"

namespace fulcrum::replay {

/// What became of an order. `order.keys` are as issued; outcome.blocks_done of them arrived.
struct Completion {
  std::uint32_t decider = 0;
  Order order;
  Outcome outcome;
};

class Mover {
 public:
  /// `profiles[t]` and `truth[t]` describe the device of tier t. Missing truths are exact.
  Mover(std::span<const TierProfile* const> profiles, std::span<const DeviceTruth> truth, std::uint64_t seed);

  void begin(std::uint32_t decider, Order order, Seconds now);
  /// Stops an order in flight. Nothing if it is not known: it may just have ended.
  std::optional<Completion> cancel(std::uint32_t decider, OrderId order, Seconds now);
  /// Calls visit(order, leading blocks that have arrived by now) for each load into a GPU in flight.
  void each_load(std::uint32_t decider, const std::function<void(const Order&, std::uint32_t)>& visit,
                 Seconds now);

  /// Next change on a device, TierDevice::kIdle if none.
  [[nodiscard]] Seconds next(std::size_t device) const { return devices_[device].next(); }
  [[nodiscard]] std::uint64_t generation(std::size_t device) const { return devices_[device].generation(); }
  /// Moves one device on to `now`.
  [[nodiscard]] std::vector<Completion> advance(std::size_t device, Seconds now);

  [[nodiscard]] std::size_t devices() const { return devices_.size(); }
  [[nodiscard]] const TierDevice& device(std::size_t tier) const { return devices_[tier]; }
  [[nodiscard]] Bytes bytes_loaded(std::size_t tier) const { return loaded_[tier]; }

 private:
  struct Job {
    std::uint32_t decider = 0;
    Order order;
    Seconds start{};
    bool writing = false;
  };
  using Name = std::uint64_t;
  static Name name(std::uint32_t decider, OrderId order) { return (std::uint64_t{decider} << 56) ^ order; }

  [[nodiscard]] std::uint32_t blocks_at(const Job& job, double share) const;
  [[nodiscard]] Completion complete(Job job, OutcomeKind kind, std::uint32_t blocks, Seconds now);

  void start_write(std::uint64_t transfer, Job& job, Seconds now);
  [[nodiscard]] bool memory(TierId tier) const {
    return tier >= 0 && media_[static_cast<std::size_t>(tier)] == Medium::dram;
  }
  [[nodiscard]] TierDevice& device_of(TierId tier) { return devices_.at(static_cast<std::size_t>(tier)); }

  std::vector<TierDevice> devices_;
  std::vector<Medium> media_;
  std::vector<Bytes> loaded_;                    ///< read for requests to the end
  std::unordered_map<std::uint64_t, Job> jobs_;  ///< by transfer id
  std::unordered_map<Name, std::uint64_t> transfers_;
  std::uint64_t next_transfer_ = 0;
};

}  // namespace fulcrum::replay
