// The laws that targets hold readers to, as functions of what a reader has given: so that the tests can show
// that a reader which breaks one is caught. All throw LawBroken.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "fulcrum/result.h"
#include "policy/decision_log.h"
#include "replay/trace_builder.h"
#include "tests/fuzz/input.h"
#include "tiers/recovery.h"
#include "tiers/tier.h"

namespace fulcrum::fuzz {

/// A refusal that reaches an operator is of one of these kinds and says what is wrong, where, and what to do
/// next; of a text, it may instead give every problem its place there, for that is what to mend.
void check_refusal(const Error& error, std::initializer_list<ErrorKind> kinds);

/// Reads a text and writes what it has read.
using Rewrite = std::function<Result<std::string>(const std::string& text)>;
/// What was read is written as a text that reads back to the same, apart from comments where `plain` takes
/// them out. False where the text is refused; the refusal is the caller's to judge.
bool check_text(const std::string& text, const Rewrite& rewrite,
                const std::function<std::string(const std::string&)>& plain);

/// A decision that was taken again, by the rule of its record, is one of the record's alternatives.
void check_decision(const DecisionRecord& again);

/// What was read of a trace is in order, begins at zero, and its keys lie within the trace.
void check_trace(const replay::Trace& trace);
/// Reads a line; one that is refused adds nothing.
void check_line(replay::TraceParser& parser, replay::TraceBuilder& builder, std::string_view line);

/// A store holds no more than it may, and as many blocks as it says.
void check_limits(const TierStatus& status, std::size_t held);
/// What a recovered state never violates, whatever it was made from.
void check_state(const StoreState& state, const FileLayout& layout);

}  // namespace fulcrum::fuzz
