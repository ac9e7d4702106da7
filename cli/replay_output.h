// What `fulcrum replay` prints for people.
#pragma once

#include <iosfwd>
#include <span>

#include "replay/report.h"
#include "replay/scenario.h"

namespace fulcrum::cli {

/// The comparison: one row a policy, and below it the bytes moved by tier.
void print_comparison(std::ostream& out, std::span<const replay::PolicyReport> policies);
/// Published beside simulated, and what the gate would have changed.
void print_scenario(std::ostream& out, const replay::ScenarioReport& report);

}  // namespace fulcrum::cli
