#include "policy/orders.h"

#include "base/check.h"

namespace fulcrum {

OrderId Orders::open(Flight flight) {
  flights_.emplace_hint(flights_.end(), next_, std::move(flight));
  return next_++;
}

void Orders::issue(OrderId id) {
  Flight* flight = find(id);
  FULCRUM_CHECK(flight != nullptr && !flight->issued, "an order is handed out once");
  flight->issued = true;
  const RequestId request = flight->waiters.empty() ? 0 : flight->waiters.front();
  Order order;
  order.id = id;
  order.kind = flight->kind;
  order.source = flight->source;
  order.target = flight->target;
  order.request = request;
  order.bytes = bytes(*flight);
  order.worth = flight->worth;
  order.keys = index_->keys_ending(flight->last, flight->blocks);
  order.first = (*index_)[flight->last].end() - flight->blocks;
  if (order.first > 0) order.parent = index_->keys_ending(flight->last, flight->blocks + 1).front();
  out_.push_back(std::move(order));
}

void Orders::call_off(OrderId id) {
  Flight* flight = find(id);
  FULCRUM_CHECK(flight != nullptr && flight->issued, "only what was handed out is called off");
  flight->called_off = true;
  tell_to_end(id);
}

void Orders::withdraw(OrderId id) {
  const Flight* flight = find(id);
  FULCRUM_CHECK(flight != nullptr && !flight->issued, "what was handed out is called off");
  tell_to_end(id);
}

void Orders::tell_to_end(OrderId id) {
  Order order;
  order.id = id;
  order.kind = OrderKind::cancel;
  out_.push_back(std::move(order));
}

void Orders::erase(TierId tier, NodeId last, std::uint32_t blocks) {
  Order order;
  order.id = next_++;
  order.kind = OrderKind::erase;
  order.source = tier;
  order.bytes = block_bytes_ * static_cast<std::int64_t>(blocks);
  order.keys = index_->keys_ending(last, blocks);
  out_.push_back(std::move(order));
}

Flight* Orders::find(OrderId id) {
  const auto found = flights_.find(id);
  return found == flights_.end() ? nullptr : &found->second;
}

const Flight* Orders::find(OrderId id) const {
  const auto found = flights_.find(id);
  return found == flights_.end() ? nullptr : &found->second;
}

}  // namespace fulcrum
