#include <algorithm>

#include "base/check.h"
#include "policy/decider_impl.h"

namespace fulcrum {

// The node that ends at block `end` of a known chain, cut so that it does.
NodeId Decider::Impl::node_ending(std::span<const BlockKey> blocks, std::uint32_t end) {
  index_.trace(blocks.first(end), path_);
  FULCRUM_CHECK(!path_.empty() && index_[path_.back()].end() == end, "the chain is known up to there");
  return path_.back();
}

std::vector<NodeId> Decider::Impl::nodes_of(const Flight& flight) const {
  std::vector<NodeId> nodes;
  std::uint32_t left = flight.blocks;
  for (NodeId id = flight.last; left > 0; id = index_[id].parent) {
    FULCRUM_CHECK(index_[id].count() <= left, "an order covers whole nodes");
    left -= index_[id].count();
    nodes.push_back(id);
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

OrderId Decider::Impl::begin(Flight flight) {
  const std::vector<NodeId> nodes = nodes_of(flight);
  const bool read = flight.kind == OrderKind::load || flight.kind == OrderKind::preload;
  const bool writes = flight.target != kGpu;
  const TierId source = flight.source;
  const TierId target = flight.target;
  const OrderId order = orders_.open(std::move(flight));
  for (const NodeId id : nodes) {
    residency_.hold(id, source);
    if (read) index_[id].loading = order;
    const PrefixNode& node = index_[id];
    if (writes) residency_.change(id, node.resident, static_cast<TierMask>(node.pending | bit(target)));
  }
  return order;
}

OrderId Decider::Impl::begin_load(const Request& request, const Run& run, double saved_per_byte,
                                  OrderKind kind) {
  Flight flight;
  flight.kind = kind;
  flight.source = run.tier;
  flight.target = kind == OrderKind::preload ? TierId{0} : kGpu;
  if (run.first > 0) (void)node_ending(request.blocks, run.first);
  flight.last = node_ending(request.blocks, run.first + run.count);
  flight.blocks = run.count;
  flight.waiters = {request.id};
  flight.worth = residency_.worth(flight.last, flight.target >= 0 ? flight.target : flight.source);
  const OrderId order = begin(std::move(flight));
  traffic_.enqueue(run.tier, order, bytes(run.count), saved_per_byte, kind == OrderKind::load);
  return order;
}

void Decider::Impl::pump(TierId tier) {
  while (const auto order = traffic_.start_next(tier)) {
    const Flight& flight = *orders_.find(*order);
    state(tier).read += orders_.bytes(flight);
    if (flight.target >= 0) state(flight.target).written += orders_.bytes(flight);
    orders_.issue(*order);
  }
}

// Nobody waits for this read any more, or it cannot come about. A plan has told the number of an order that
// is held back too: whoever counts on it hears that it never comes.
void Decider::Impl::abandon(OrderId order) {
  Flight& flight = *orders_.find(order);
  if (!flight.issued) {
    orders_.withdraw(order);
    end(order, OutcomeKind::cancelled, 0);
    return;
  }
  for (const NodeId id : nodes_of(flight)) {
    if (index_[id].loading == order) index_[id].loading = 0;
  }
  orders_.call_off(order);
}

void Decider::Impl::on_outcome(const Outcome& outcome, Seconds now) {
  advance(now);
  const Flight* flight = orders_.find(outcome.order);
  if (flight == nullptr || !flight->issued) return;
  const bool whole = outcome.kind == OutcomeKind::done;
  end(outcome.order, outcome.kind, whole ? flight->blocks : std::min(outcome.blocks_done, flight->blocks));
  residency_.trim();
  on_time(now);
}

void Decider::Impl::end(OrderId order, OutcomeKind kind, std::uint32_t done) {
  Flight flight = *orders_.find(order);
  if (flight.kind == OrderKind::load || flight.kind == OrderKind::preload) {
    traffic_.remove(flight.source, order);
  }
  if (flight.kind == OrderKind::demote) {
    state(flight.source).leaving -= orders_.bytes(flight);
    state(flight.target).coming -= orders_.bytes(flight);
  }
  if (done > 0 && done < flight.blocks) {  // the boundary becomes one between nodes
    std::uint32_t behind = flight.blocks - done;
    NodeId id = flight.last;
    for (; behind >= index_[id].count(); id = index_[id].parent) behind -= index_[id].count();
    if (behind > 0) residency_.cut_back(id, behind);
  }
  const std::vector<NodeId> nodes = nodes_of(flight);
  orders_.close(order);
  std::uint32_t at = 0;
  for (const NodeId id : nodes) {
    at += index_[id].count();
    settle(flight, order, id, kind, at <= done);
  }
  if (flight.kind == OrderKind::demote) {  // the back of a chain leaves before its front
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) finish_demotion(flight, *id);
  }
  for (const NodeId id : nodes) {
    if (orphan(id)) residency_.drop_orphans(index_[id].parent);
    if (index_[id].present() == 0) residency_.drop_orphans(id);
  }
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) index_.join(*id);
  if (flight.source >= 0) pump(flight.source);
}

void Decider::Impl::settle(const Flight& flight, OrderId order, NodeId id, OutcomeKind kind, bool arrived) {
  if (index_[id].loading == order) index_[id].loading = 0;
  if (flight.target >= 0) {
    const PrefixNode& node = index_[id];
    const TierMask target = bit(flight.target);
    const auto resident = static_cast<TierMask>(arrived ? node.resident | target : node.resident);
    residency_.change(id, resident, static_cast<TierMask>(node.pending & ~target));
  }
  residency_.release(id, flight.source);
  // What a tier failed to read is not asked of it again.
  const PrefixNode& node = index_[id];
  const bool lost = kind == OutcomeKind::failed && !arrived && flight.source >= 0;
  if (lost && !node.read_from(flight.source) && (node.resident & bit(flight.source)) != 0)
    residency_.drop(id, flight.source);
}

// The copy below is there: the one above goes, unless it is being read or carries newer blocks by now.
void Decider::Impl::finish_demotion(const Flight& flight, NodeId id) {
  const PrefixNode& node = index_[id];
  const auto source = index_of(flight.source);
  const bool copied = (node.resident & bit(flight.target)) != 0 && (node.resident & bit(flight.source)) != 0;
  if (copied && !node.read_from(flight.source) && node.children_in[source] == 0)
    residency_.drop(id, flight.source);
}

}  // namespace fulcrum
