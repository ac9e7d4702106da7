// SimulationRun: one run of the simulation, from the first arrival to the last first token.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "replay/event_queue.h"
#include "replay/load_waits.h"
#include "replay/mover.h"
#include "replay/replica.h"
#include "replay/simulation.h"

namespace fulcrum::replay {

class SimulationRun {
 public:
  /// One decider for all replicas, or one for each of them.
  SimulationRun(const Trace& trace, std::vector<Decider> deciders, const SimulationOptions& options,
                const DecisionSink& sink);

  SimulationResult run();

 private:
  static constexpr OrderId kOwnOrders = OrderId{1} << 48;  ///< numbers that no decider reaches

  /// A decider, and who waits for the loads that it ordered.
  struct Cache {
    explicit Cache(Decider d) : decider(std::move(d)) {}
    Decider decider;
    LoadWaits waits;
  };

  // Events
  void arrive(std::uint32_t index);
  void move_device(std::size_t device);
  void finish_prefill(std::size_t replica);
  void stop_loss(std::uint32_t index);

  // What they lead to
  void release_next();
  void dispatch(std::size_t replica);
  void plan(std::uint32_t index);
  void end_wait(std::uint32_t index);
  void start_prefill(std::uint32_t index);
  void carry_out_orders(std::uint32_t cache);
  void report(const Completion& completion);
  void bring_up(const Completion& completion);
  void forecast();

  [[nodiscard]] std::span<const BlockKey> chain(std::uint32_t index) const;
  [[nodiscard]] Request request(std::uint32_t index, Seconds lead) const;
  [[nodiscard]] Seconds prefill(std::uint32_t index, Tokens cached) const;
  [[nodiscard]] Tokens tokens_of(std::uint32_t index, std::size_t blocks) const;
  [[nodiscard]] std::uint32_t cache_of(std::size_t replica) const;
  [[nodiscard]] SimulationResult result() const;

  const Trace& trace_;
  const SimulationOptions& options_;
  const DecisionSink& sink_;
  const PrefillLaw law_;
  EventQueue events_;
  std::vector<Cache> caches_;
  std::vector<Replica> replicas_;
  Mover mover_;
  std::vector<std::uint64_t> forecasts_;  ///< generation of each device's last forecast
  std::vector<RequestRecord> records_;
  std::vector<Seconds> estimates_;  ///< prefill expected at arrival, while it waits
  std::vector<double> slowness_;    ///< true prefill time over the law's, by request
  std::uint32_t released_ = 0;
  OrderId own_orders_ = 0;
  Seconds gpu_{};
};

}  // namespace fulcrum::replay
