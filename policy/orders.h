// Orders: what has been asked of the movers and is not finished, and what is to be handed out next.
//
// An order names the last of its nodes and a number of blocks. That stays true while nodes are split, since
// the back keeps the number; nodes in use are neither joined nor forgotten.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "policy/prefix_index.h"

namespace fulcrum {

struct Flight {
  OrderKind kind = OrderKind::load;
  TierId source = kNowhere;
  TierId target = kNowhere;
  NodeId last = kNoNode;
  std::uint32_t blocks = 0;
  double worth = 0;                ///< of the last block where it goes
  std::vector<RequestId> waiters;  ///< requests that it is for
  bool issued = false;             ///< handed to a mover; false while the gate holds it back
  bool called_off = false;         ///< the mover was told to stop
};

class Orders {
 public:
  Orders(const PrefixIndex& index, Bytes block_bytes) : index_(&index), block_bytes_(block_bytes) {}

  /// Enters an order; it is not handed out before issue().
  OrderId open(Flight flight);
  void issue(OrderId id);
  /// Tells the mover to stop.
  void call_off(OrderId id);
  /// Tells that an order which was not handed out never will be.
  void withdraw(OrderId id);
  /// The order is over.
  void close(OrderId id) { flights_.erase(id); }
  /// Orders blocks of a tier to be erased. Nothing is awaited.
  void erase(TierId tier, NodeId last, std::uint32_t blocks);

  [[nodiscard]] Flight* find(OrderId id);
  [[nodiscard]] const Flight* find(OrderId id) const;
  /// By number, oldest first.
  [[nodiscard]] std::map<OrderId, Flight>& flights() { return flights_; }
  [[nodiscard]] Bytes bytes(const Flight& flight) const {
    return block_bytes_ * static_cast<std::int64_t>(flight.blocks);
  }
  std::vector<Order> take() { return std::exchange(out_, {}); }

 private:
  void tell_to_end(OrderId id);

  const PrefixIndex* index_;
  Bytes block_bytes_;
  OrderId next_ = 1;
  std::map<OrderId, Flight> flights_;
  std::vector<Order> out_;
};

}  // namespace fulcrum
