// The decision log: one line a decision, with both sides of the inequality and all it takes to decide again.
//
//   LOAD t=60 req=17 pfx=<32 hex digits> prompt=39200 resident=0 k=38400
//     | save 1.69 > pay 0.691: exposed 0.691 + margin 0
//     | rule=break_even stop_loss=1 threshold=0 lead=0.1 gpu_price=1
//     | alt 0:0:0:1.75 4096@dram:0.0113:0.113:1.65 38400@nvme:0.791:1.69:0.9
// on one line. An alternative is tokens loaded up to, the tier that holds the blocks beyond the alternative
// before, then seconds of load, recomputation saved and time to first token. save is the recomputation saved
// times gpu_price. Numbers are written so that they read back exactly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fulcrum/decision.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"
#include "policy/valuation.h"

namespace fulcrum {

struct DecisionRecord {
  Seconds at{};
  RequestId request = 0;
  BlockKey prefix;  ///< of the prompt's last whole block
  Tokens prompt{};
  Tokens resident{};
  Tokens load_end{};
  Reason reason;
  Seconds margin{};
  Rule rule;
  std::vector<Alternative> alternatives;
  std::vector<std::string> tiers;  ///< names; Alternative::tier is an index into it
};

[[nodiscard]] DecisionRecord record_of(const Request& request, const Plan& plan, const PolicyConfig& policy,
                                       Seconds now);
/// Without a line end.
[[nodiscard]] std::string to_line(const DecisionRecord& record);
/// Kinds: bad_input; names `where` and the field that is broken or contradicts another.
Result<DecisionRecord> parse_decision(std::string_view line, const std::string& where);

/// The same decision from its recorded numbers, by `rule`: choice, chosen, load_end and both sides anew.
[[nodiscard]] DecisionRecord decide_again(DecisionRecord record, const Rule& rule);
/// The same decision with all costs anew, on idle tiers. Tiers are matched by name.
/// Kinds: mismatch (a tier that the policy lacks; a policy that contradicts the profile).
Result<DecisionRecord> decide_again(const DecisionRecord& record, const PolicyConfig& policy,
                                    const MachineProfile& profile);

}  // namespace fulcrum
