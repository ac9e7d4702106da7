// A reader that breaks a law is caught: every law of the fuzz targets is broken once, by a fault that is
// planted here.
#include "tests/fuzz/laws.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "base/errors.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace fulcrum::fuzz {
namespace {

using replay::Trace;
using replay::TraceBuilder;
using replay::TraceRequest;

TEST(FuzzLaws, ARowUnderAnotherKeyIsNoticedWhereItsForgerHasSignedIt) {
  EXPECT_THROW(run_store(signed_forgery()), LawBroken);
}

FileLayout layout_of(Bytes row_bytes) {
  return *FileLayout::for_capacity(Bytes(512 << 10), row_bytes, Medium::flash);
}

TEST(FuzzLaws, AStateThatContradictsItselfIsNoticed) {
  const FileLayout layout = layout_of(Bytes(4096));
  const ExtentFacts facts{0, 3, 1, 0, {}, 0, {{{1, 1}, 5, 2}}};
  const auto state_with = [&](std::uint32_t generation, std::uint32_t head) {
    StoreState state(layout);
    state.segments[0].generation = generation;
    state.segments[0].head = head;
    state.index.add(facts);
    return state;
  };
  EXPECT_NO_THROW(check_state(state_with(3, 3), layout));
  EXPECT_THROW(check_state(state_with(4, 3), layout), LawBroken) << "of another life";
  EXPECT_THROW(check_state(state_with(3, 2), layout), LawBroken) << "beyond what was written";
}

TEST(FuzzLaws, ExtentsThatShareAPageAreNoticed) {
  // An index that takes rows for smaller than they are finds no fault with these.
  const FileLayout rows_of_a_page = layout_of(Bytes(4096));
  const FileLayout rows_of_two = layout_of(Bytes(8192));
  StoreState state(rows_of_a_page);
  state.segments[0].generation = 3;
  state.segments[0].head = 5;
  state.index.add({0, 3, 0, 0, {}, 0, {{{1, 1}, 5, 2}}});
  state.index.add({0, 3, 2, 0, {}, 0, {{{1, 2}, 5, 2}}});
  EXPECT_NO_THROW(check_state(state, rows_of_a_page));
  EXPECT_THROW(check_state(state, rows_of_two), LawBroken);
}

TEST(FuzzLaws, AStoreThatHoldsOrCountsTooMuchIsNoticed) {
  TierStatus status;
  status.capacity = Bytes(100);
  status.used = Bytes(100);
  status.live = Bytes(80);
  status.blocks = 8;
  EXPECT_NO_THROW(check_limits(status, 8));
  EXPECT_THROW(check_limits(status, 7), LawBroken) << "a block that is counted and not held";
  EXPECT_THROW(check_limits(status, 9), LawBroken) << "a block that is held and not counted";
  status.used = Bytes(101);
  EXPECT_THROW(check_limits(status, 8), LawBroken) << "more than its capacity";
  status.used = Bytes(79);
  EXPECT_THROW(check_limits(status, 8), LawBroken) << "more alive than used";
}

TEST(FuzzLaws, ARefusalThatDoesNotHelpIsNoticed) {
  const Error good = bad_input("policy.yaml:3", "no such key", "use 'tiers'");
  EXPECT_NO_THROW(check_refusal(good, {ErrorKind::mismatch, ErrorKind::bad_input}));
  EXPECT_THROW(check_refusal(good, {ErrorKind::mismatch}), LawBroken);
  for (std::string Error::*part : {&Error::where, &Error::detail, &Error::next_step}) {
    Error silent = good;
    (silent.*part).clear();
    EXPECT_THROW(check_refusal(silent, {ErrorKind::bad_input}), LawBroken);
  }
  Error placed = bad_input("a.yaml", "a.yaml:1:2: no such key\na.yaml:3:4: no such key");
  EXPECT_NO_THROW(check_refusal(placed, {ErrorKind::bad_input}));
  placed.detail += "\nand 3 more problems";
  EXPECT_NO_THROW(check_refusal(placed, {ErrorKind::bad_input}));
  placed.detail += "\nsomewhere";
  EXPECT_THROW(check_refusal(placed, {ErrorKind::bad_input}), LawBroken) << "one has no place";
}

std::string as_it_is(const std::string& text) {
  return text;
}

TEST(FuzzLaws, AWriterThatChangesItsTextOrCannotReadItIsNoticed) {
  const Rewrite honest = [](const std::string& text) -> Result<std::string> { return text; };
  EXPECT_TRUE(check_text("a", honest, as_it_is));
  const Rewrite growing = [](const std::string& text) -> Result<std::string> { return text + "b"; };
  EXPECT_THROW(check_text("a", growing, as_it_is), LawBroken);
  const Rewrite refusing_its_own = [](const std::string& text) -> Result<std::string> {
    if (text == "b") return bad_input("line 1", "it is not a", "write a");
    return std::string("b");
  };
  EXPECT_THROW(check_text("a", refusing_its_own, as_it_is), LawBroken);
  EXPECT_FALSE(check_text("b", refusing_its_own, as_it_is)) << "a refusal breaks no law of texts";
  const auto without_tail = [](const std::string& text) { return text.substr(0, 1); };
  EXPECT_TRUE(check_text("a", growing, without_tail));
}

TEST(FuzzLaws, ADecisionForNoAlternativeIsNoticed) {
  DecisionRecord record;
  record.alternatives.resize(2);
  record.alternatives[1].load_end = Tokens(64);
  record.reason.chosen = 1;
  record.load_end = Tokens(64);
  EXPECT_NO_THROW(check_decision(record));
  record.load_end = Tokens(32);
  EXPECT_THROW(check_decision(record), LawBroken) << "it loads what it has not chosen";
  record.reason.chosen = 2;
  EXPECT_THROW(check_decision(record), LawBroken) << "there is no such alternative";
}

Trace good_trace() {
  Trace trace;
  trace.block_tokens = Tokens(16);
  trace.keys.resize(3);
  for (const double arrival : {0.0, 1.0}) {
    TraceRequest request;
    request.arrival = Seconds(arrival);
    request.prompt = Tokens(32);
    request.key_count = 3;
    trace.requests.push_back(request);
  }
  return trace;
}

TEST(FuzzLaws, ATraceThatContradictsItselfIsNoticed) {
  EXPECT_NO_THROW(check_trace(good_trace()));
  const auto broken = [](const std::function<void(Trace&)>& plant) {
    Trace trace = good_trace();
    plant(trace);
    EXPECT_THROW(check_trace(trace), LawBroken);
  };
  broken([](Trace& trace) { std::swap(trace.requests[0], trace.requests[1]); });
  broken([](Trace& trace) { trace.requests[0].arrival = Seconds(0.5); });
  broken([](Trace& trace) { trace.requests[1].arrival = Seconds(std::numeric_limits<double>::infinity()); });
  broken([](Trace& trace) { trace.requests[1].prompt = Tokens(0); });
  broken([](Trace& trace) { trace.requests[1].output = Tokens(-1); });
  broken([](Trace& trace) { trace.requests[1].first_key = 1; });
  broken([](Trace& trace) { trace.block_tokens = Tokens(0); });
}

/// Refuses every line, and has added it all the same where it is told to.
class RefusingParser final : public replay::TraceParser {
 public:
  explicit RefusingParser(bool leaks) : leaks_(leaks) {}
  [[nodiscard]] bool recognises(std::string_view /*line*/) const override { return true; }
  std::string read(std::string_view /*line*/, TraceBuilder& out) override {
    const BlockKey key{1, 2};
    if (leaks_) out.add({}, {&key, 1});
    return "no";
  }
  [[nodiscard]] Tokens block_tokens() const override { return Tokens(16); }

 private:
  bool leaks_;
};

TEST(FuzzLaws, ARefusedLineThatLeavesARequestBehindIsNoticed) {
  TraceBuilder builder({});
  RefusingParser clean(false);
  EXPECT_NO_THROW(check_line(clean, builder, "a"));
  RefusingParser leaking(true);
  EXPECT_THROW(check_line(leaking, builder, "a"), LawBroken);
}

}  // namespace
}  // namespace fulcrum::fuzz
