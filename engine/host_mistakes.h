// What a host can get wrong in what it gives: found here, before it reaches those who rely on it.
//
// A request that cannot be planned is computed by its host as if nothing were known; a store is refused.
#pragma once

#include <string_view>

#include "fulcrum/engine.h"

namespace fulcrum::engine {

/// What is wrong and what to do, a text that stays; empty where it can be planned.
[[nodiscard]] std::string_view mistake_in(const Request& request);
[[nodiscard]] std::string_view mistake_in(const LoadOptions& options);
/// Kinds: bad_input.
[[nodiscard]] Result<void> check(const StoreRequest& request);

/// The answer to a request for which nothing is loaded: all behind the resident tokens is computed.
[[nodiscard]] Plan plan_of_nothing(const Request& request);

}  // namespace fulcrum::engine
