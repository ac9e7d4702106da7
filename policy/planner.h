// Planner: from a request and what is resident to a Plan. No side effects, no allocation.
//
// Hosts take a leading run: load blocks up to k, compute the rest. Between two tier boundaries the time is
// concave in k, so the best k is one of: nothing, a boundary between tiers, all that is known, or where a
// load stops being hidden by the lead time (docs/break_even.md). Tiers load side by side: the load time is
// that of the slowest.
#pragma once

#include "policy/costs.h"
#include "policy/orders.h"
#include "policy/prefix_index.h"
#include "policy/traffic.h"
#include "policy/valuation.h"

namespace fulcrum {

class Planner {
 public:
  /// All arguments outlive this. `fixed_gpu_price` 0: from the request's gpu_load.
  Planner(const Costs& costs, const Valuation& valuation, const PrefixIndex& index, const Orders& orders,
          const Traffic& traffic, Seconds margin, double fixed_gpu_price)
      : costs_(costs),
        valuation_(valuation),
        index_(index),
        orders_(orders),
        traffic_(traffic),
        margin_(margin),
        fixed_gpu_price_(fixed_gpu_price) {}

  [[nodiscard]] Plan plan(const Request& request) const;

 private:
  class Clock;
  void find_runs(const Request& request, Plan& plan) const;
  void list_alternatives(const Request& request, Plan& plan) const;
  void decide(const Request& request, Plan& plan) const;
  [[nodiscard]] bool extend(Plan& plan, const PrefixNode& node, std::uint32_t first, std::uint32_t end) const;

  const Costs& costs_;
  const Valuation& valuation_;
  const PrefixIndex& index_;
  const Orders& orders_;
  const Traffic& traffic_;
  Seconds margin_;
  double fixed_gpu_price_;
};

}  // namespace fulcrum
