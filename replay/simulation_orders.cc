// SimulationRun: what the deciders order, and what becomes of it on the devices.
#include <algorithm>
#include <utility>

#include "replay/simulation_run.h"

namespace fulcrum::replay {

void SimulationRun::move_device(std::size_t device) {
  for (const Completion& completion : mover_.advance(device, events_.now())) report(completion);
  for (std::uint32_t cache = 0; cache < caches_.size(); ++cache) carry_out_orders(cache);
}

void SimulationRun::carry_out_orders(std::uint32_t at) {
  const Seconds now = events_.now();
  Decider& decider = caches_[at].decider;
  for (auto orders = decider.take_orders(); !orders.empty(); orders = decider.take_orders()) {
    for (Order& order : orders) {
      if (order.kind == OrderKind::cancel) {
        if (const auto stopped = mover_.cancel(at, order.id, now)) report(*stopped);
      } else if (order.kind != OrderKind::erase) {
        mover_.begin(at, std::move(order), now);
      }
    }
  }
}

void SimulationRun::report(const Completion& completion) {
  Cache& cache = caches_[completion.decider];
  const Order& order = completion.order;
  const std::size_t arrived = completion.outcome.blocks_done;
  const bool ahead = order.kind == OrderKind::preload && arrived == order.keys.size();
  if (ahead && cache.waits.wanted(order.keys)) {
    bring_up(completion);
  } else if (order.kind == OrderKind::load || order.kind == OrderKind::preload) {
    for (const std::uint32_t index : cache.waits.deliver(order.keys, arrived)) end_wait(index);
  }
  if (order.id < kOwnOrders) cache.decider.on_outcome(completion.outcome, events_.now());
}

// A request was planned while its blocks were being read ahead: they are one step from the GPU now.
void SimulationRun::bring_up(const Completion& completion) {
  Order order = completion.order;
  order.kind = OrderKind::load;
  order.id = kOwnOrders + ++own_orders_;
  order.source = std::exchange(order.target, kGpu);
  mover_.begin(completion.decider, std::move(order), events_.now());
}

void SimulationRun::forecast() {
  for (std::uint32_t device = 0; device < forecasts_.size(); ++device) {
    const std::uint64_t generation = mover_.generation(device);
    if (forecasts_[device] == generation) continue;
    forecasts_[device] = generation;
    const Seconds next = mover_.next(device);
    if (next == TierDevice::kIdle) continue;
    events_.push(std::max(next, events_.now()), EventKind::device, device, generation);
  }
}

}  // namespace fulcrum::replay
