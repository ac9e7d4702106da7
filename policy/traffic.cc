#include "policy/traffic.h"

#include <algorithm>

#include "base/check.h"

namespace fulcrum {
namespace {

// Share of a load that counts as left until its outcome is known.
constexpr double kLeastLeft = 1.0 / 16;
// More flows than this are treated as one sum: sharing among so many is a matter of bytes, not of order.
constexpr std::size_t kFlowsSorted = 32;

double rate_of(const TransferLaw& law, std::size_t loads) {
  return law.contention.throughput(static_cast<int>(std::max<std::size_t>(loads, 1))).value();
}

}  // namespace

bool Traffic::Queued::before(const Queued& other) const {
  if (urgent != other.urgent) return urgent;
  if (saved_per_byte != other.saved_per_byte) return saved_per_byte > other.saved_per_byte;
  return order < other.order;
}

void Traffic::advance(Seconds now) {
  const double passed = (now - now_).value();
  now_ = now;
  if (passed <= 0) return;
  for (TierId tier = 0; tier < costs_->tiers(); ++tier) {
    std::vector<Flow>& flows = lane(tier).flows;
    if (flows.empty()) continue;
    const double each =
        passed * rate_of(costs_->typical(tier), flows.size()) / static_cast<double>(flows.size());
    for (Flow& flow : flows) flow.left = std::max(flow.least, flow.left - each);
  }
}

void Traffic::enqueue(TierId tier, OrderId order, Bytes bytes, double saved_per_byte, bool urgent) {
  FULCRUM_CHECK(lane(tier).queue.size() < kQueueMost + kMaxRuns, "the queue has room");
  lane(tier).queue.push_back({order, static_cast<double>(bytes.value()), saved_per_byte, urgent});
}

std::optional<OrderId> Traffic::start_next(TierId tier) {
  Lane& own = lane(tier);
  if ((open_ & bit(tier)) == 0 || own.queue.empty() || in_flight(tier) >= gates_[index_of(tier)])
    return std::nullopt;
  const auto next = std::min_element(own.queue.begin(), own.queue.end(),
                                     [](const Queued& a, const Queued& b) { return a.before(b); });
  const OrderId order = next->order;
  own.flows.push_back({order, next->bytes, next->bytes * kLeastLeft});
  own.queue.erase(next);
  return order;
}

void Traffic::hurry(TierId tier, OrderId order) {
  for (Queued& queued : lane(tier).queue) {
    if (queued.order == order) queued.urgent = true;
  }
}

void Traffic::remove(TierId tier, OrderId order) {
  Lane& own = lane(tier);
  std::erase_if(own.flows, [order](const Flow& flow) { return flow.order == order; });
  std::erase_if(own.queue, [order](const Queued& queued) { return queued.order == order; });
}

bool Traffic::closed(TierId tier) const {
  return in_flight(tier) >= gates_[index_of(tier)] || !lane(tier).queue.empty();
}

// With the gate closed the device always works at X(N*), whatever the order in which loads are served; the
// last one is done when all bytes are.
Seconds Traffic::behind_all(TierId tier, double bytes, const TransferLaw& law) const {
  double all = bytes;
  for (const Flow& flow : lane(tier).flows) all += flow.left;
  for (const Queued& queued : lane(tier).queue) all += queued.bytes;
  const auto at_once = static_cast<std::size_t>(std::max(in_flight(tier), 1));
  return law.setup + Seconds(all / rate_of(law, at_once));
}

Seconds Traffic::finish(TierId tier, Bytes bytes, const TransferLaw& law) const {
  const auto wanted = static_cast<double>(bytes.value());
  const std::vector<Flow>& flows = lane(tier).flows;
  if (flows.empty()) return law.setup + bytes / law.contention.throughput(1);
  if (closed(tier) || flows.size() > kFlowsSorted) return behind_all(tier, wanted, law);

  std::array<double, kFlowsSorted> left{};
  std::size_t ahead = 0;  // loads that are done before this one
  for (const Flow& flow : flows) left[ahead++] = std::min(flow.left, wanted);
  std::sort(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(ahead));
  double moved = 0;  // bytes of each load so far
  double time = 0;
  for (std::size_t i = 0; i <= ahead; ++i) {
    const double until = i < ahead ? left[i] : wanted;
    const std::size_t sharing = ahead - i + 1;
    time += (until - moved) * static_cast<double>(sharing) / rate_of(law, sharing);
    moved = until;
  }
  return law.setup + Seconds(time);
}

Seconds Traffic::residual(TierId tier, OrderId order, const TransferLaw& law) const {
  const std::vector<Flow>& flows = lane(tier).flows;
  const auto own =
      std::find_if(flows.begin(), flows.end(), [order](const Flow& f) { return f.order == order; });
  if (own == flows.end()) return behind_all(tier, 0, law);
  return Seconds(own->left * static_cast<double>(flows.size()) / rate_of(law, flows.size()));
}

}  // namespace fulcrum
