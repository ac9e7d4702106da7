// Routing: which replica a request goes to.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "fulcrum/units.h"
#include "replay/replica.h"
#include "replay/simulation.h"
#include "replay/trace.h"

namespace fulcrum::replay {

/// Deterministic; `turn` counts the requests routed before. `replicas` is not empty.
[[nodiscard]] std::size_t route(Router router, const Trace& trace, const TraceRequest& request,
                                std::size_t turn, std::span<const Replica> replicas, Seconds now);

}  // namespace fulcrum::replay
