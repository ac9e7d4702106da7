#include "tests/fuzz/laws.h"

#include <algorithm>
#include <cmath>

namespace fulcrum::fuzz {
namespace {

/// "file:line:column: what" each; the last one may say how many more there are.
bool every_line_has_its_place(const Error& error) {
  std::size_t line = 0;
  for (std::size_t at = 0; at < error.detail.size(); ++line) {
    const std::size_t end = std::min(error.detail.find('\n', at), error.detail.size());
    const std::string_view text = std::string_view(error.detail).substr(at, end - at);
    if (!text.starts_with(error.where + ":") && (line == 0 || !text.starts_with("and "))) return false;
    at = end + 1;
  }
  return line > 0;
}

}  // namespace

void check_refusal(const Error& error, std::initializer_list<ErrorKind> kinds) {
  require(std::ranges::find(kinds, error.kind) != kinds.end(),
          "a refusal of a kind that is not expected: " + error.message());
  require(!error.where.empty(), "a refusal says where: " + error.message());
  require(!error.detail.empty(), "a refusal says what is wrong: " + error.message());
  require(!error.next_step.empty() || every_line_has_its_place(error),
          "a refusal says what to do next: " + error.message());
}

bool check_text(const std::string& text, const Rewrite& rewrite,
                const std::function<std::string(const std::string&)>& plain) {
  const Result<std::string> once = rewrite(text);
  if (once.has_error()) return false;
  const Result<std::string> twice = rewrite(*once);
  require(twice.has_value(), "a text that was written can be read");
  require(plain(*twice) == plain(*once), "a text is written as it was read");
  return true;
}

void check_decision(const DecisionRecord& again) {
  require(again.reason.chosen < again.alternatives.size(), "a decision is one of its alternatives");
  require(again.load_end == again.alternatives[again.reason.chosen].load_end, "and says which");
}

void check_trace(const replay::Trace& trace) {
  Seconds before(0);
  for (const replay::TraceRequest& request : trace.requests) {
    require(request.arrival >= before, "requests are in order and begin at zero");
    require(std::isfinite(request.arrival.value()), "arrivals are finite");
    require(request.prompt > Tokens(0) && request.output >= Tokens(0), "prompts have tokens");
    require(request.first_key + request.key_count <= trace.keys.size(), "keys lie within the trace");
    before = request.arrival;
  }
  require(trace.requests.empty() || trace.requests.front().arrival == Seconds(0), "a trace begins at zero");
  require(trace.requests.empty() || trace.block_tokens > Tokens(0), "blocks have tokens");
}

void check_line(replay::TraceParser& parser, replay::TraceBuilder& builder, std::string_view line) {
  const replay::TraceBuilder::Mark before = builder.mark();
  const bool refused = !parser.read(line, builder).empty();
  const replay::TraceBuilder::Mark after = builder.mark();
  require(!refused || (before.requests == after.requests && before.keys == after.keys),
          "a line that is refused adds nothing");
}

void check_limits(const TierStatus& status, std::size_t held) {
  require(status.used <= status.capacity && status.live <= status.used, "a store holds no more than it may");
  require(held == status.blocks, "the blocks that are told are those that are counted");
}

namespace {

/// Of the blocks of an extent: those that live are found at their place. How many.
std::uint64_t check_blocks(const ExtentIndex& index, std::uint32_t id) {
  std::uint64_t live = 0;
  const ExtentFacts& facts = index.extent(id);
  for (std::uint32_t i = 0; i < facts.blocks.size(); ++i) {
    const StoredBlock& block = facts.blocks[i];
    if (!block.live()) continue;
    ++live;
    require(std::isfinite(block.worth), "worth is finite");
    require(index.find(block.key) == BlockPlace{id, i}, "a block that lives is found at its place");
  }
  return live;
}

}  // namespace

void check_state(const StoreState& state, const FileLayout& layout) {
  const auto pages =
      static_cast<std::uint64_t>(layout.segment_bytes.value()) / static_cast<std::uint64_t>(kPage);
  std::uint64_t live = 0;
  std::size_t extents = 0;
  for (std::uint32_t number = 0; number < state.segments.size(); ++number) {
    const Segment& segment = state.segments[number];
    std::uint64_t taken = 0;
    for (const std::uint32_t id : state.index.in_segment(number)) {
      const ExtentFacts& facts = state.index.extent(id);
      require(facts.segment == number, "an extent lies in the segment that lists it");
      require(facts.generation == segment.generation, "an extent is of its segment's life");
      require(facts.page >= taken, "no two extents share a page");
      taken = std::uint64_t{row_page(facts.page, facts.blocks.size(), layout.stride())};
      require(taken <= segment.head && segment.head <= pages, "an extent lies in what was written");
      live += check_blocks(state.index, id);
      ++extents;
    }
  }
  for (std::uint32_t id = 0; id < state.index.extents_end(); ++id)
    extents -= state.index.extent(id).blocks.empty() ? 0U : 1U;
  require(extents == 0, "every extent is listed in a segment");
  require(live == state.index.blocks(), "the blocks that live are those that are counted");
}

}  // namespace fulcrum::fuzz
