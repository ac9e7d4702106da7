#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "policy/decision_log.h"

namespace fulcrum {
namespace {

// Reads a line front to back. The first thing that is wrong is kept; what follows is not looked at.
class Reader {
 public:
  explicit Reader(std::string_view line) : rest_(line) {}

  [[nodiscard]] const std::string& problem() const { return problem_; }
  void fail(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }
  [[nodiscard]] bool at_end() const { return rest_.empty() || !problem_.empty(); }

  /// The fixed text that comes next.
  void expect(std::string_view text) {
    if (!problem_.empty()) return;
    if (!rest_.starts_with(text)) return fail("'" + std::string(text) + "' is missing at '" + near() + "'");
    rest_.remove_prefix(text.size());
  }
  /// Up to the next of `ends`, or the end of the line.
  std::string_view word(std::string_view ends) {
    if (!problem_.empty()) return {};
    const std::size_t size = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }
  template <class Number>
  Number number(std::string_view name, std::string_view ends = " ") {
    const std::string_view text = word(ends);
    Number value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool good = code == std::errc() && end == text.data() + text.size() && value >= 0;
    if constexpr (std::is_floating_point_v<Number>) good = good && std::isfinite(value);
    if (!good) fail(std::string(name) + " is not a number of 0 or more: '" + std::string(text) + "'");
    return value;
  }
  Seconds seconds(std::string_view name, std::string_view ends = " ") {
    return Seconds(number<double>(name, ends));
  }
  Tokens tokens(std::string_view name, std::string_view ends = " ") {
    return Tokens(number<std::int64_t>(name, ends));
  }
  [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

 private:
  [[nodiscard]] std::string near() const { return std::string(rest_.substr(0, 20)); }
  std::string_view rest_;
  std::string problem_;
};

template <class Value, std::size_t N>
Value named(Reader& reader, std::string_view word, std::string_view what,
            const std::array<std::pair<std::string_view, Value>, N>& names) {
  for (const auto& [name, value] : names) {
    if (name == word) return value;
  }
  reader.fail("unknown " + std::string(what) + " '" + std::string(word) + "'");
  return names.front().second;
}

constexpr std::array<std::pair<std::string_view, Choice>, 4> kChoices{{{"LOAD", Choice::load},
                                                                       {"RECOMPUTE", Choice::recompute},
                                                                       {"RESIDENT", Choice::resident},
                                                                       {"MISS", Choice::miss}}};

bool read_hex(std::string_view text, std::uint64_t& value) {
  const char* end = text.data() + text.size();
  return text.size() == 16 && std::from_chars(text.data(), end, value, 16).ptr == end;
}

BlockKey read_key(Reader& reader) {
  const std::string_view text = reader.word(" ");
  BlockKey key;
  const bool good =
      text.size() == 32 && read_hex(text.substr(0, 16), key.high) && read_hex(text.substr(16), key.low);
  if (!good) reader.fail("pfx is not 32 hex digits: '" + std::string(text) + "'");
  return key;
}

void read_alternative(Reader& reader, DecisionRecord& record) {
  Alternative a;
  a.load_end = reader.tokens("alt", "@:");
  if (reader.peek() == '@') {
    reader.expect("@");
    const std::string name(reader.word(":"));
    const auto found = std::find(record.tiers.begin(), record.tiers.end(), name);
    a.tier = static_cast<TierId>(found - record.tiers.begin());
    if (found == record.tiers.end()) record.tiers.push_back(name);
  }
  reader.expect(":");
  a.load = reader.seconds("alt load", ":");
  reader.expect(":");
  a.saved = reader.seconds("alt saved", ":");
  reader.expect(":");
  a.ttft = reader.seconds("alt ttft");
  const bool first = record.alternatives.empty();
  if (first != (a.tier == kNowhere)) reader.fail("the first alternative, and only that one, has no tier");
  if (!first && a.load_end <= record.alternatives.back().load_end) reader.fail("alternatives do not grow");
  if (record.alternatives.size() == kMaxRuns + 2) reader.fail("too many alternatives");
  record.alternatives.push_back(a);
}

void read_sides(Reader& reader, DecisionRecord& record) {
  reader.expect(" | save ");
  record.reason.saved = reader.seconds("save");
  reader.expect(" ");
  const std::string_view sign = reader.word(" ");
  reader.expect(" pay ");
  record.reason.paid = reader.seconds("pay", ":");
  if (sign != (record.reason.saved > record.reason.paid ? ">" : "<=")) {
    reader.fail("the sign between save and pay is wrong");
  }
  reader.expect(": exposed ");
  static_cast<void>(reader.seconds("exposed"));
  reader.expect(" + margin ");
  record.margin = record.rule.margin = reader.seconds("margin");
}

void read_rule(Reader& reader, DecisionRecord& record) {
  constexpr std::array<std::pair<std::string_view, Strategy>, 4> kStrategies{
      {{"break_even", Strategy::break_even},
       {"load_always", Strategy::load_always},
       {"threshold", Strategy::threshold},
       {"none", Strategy::none}}};
  reader.expect(" | rule=");
  record.rule.strategy = named(reader, reader.word(" "), "rule", kStrategies);
  reader.expect(" stop_loss=");
  record.rule.stop_loss = reader.number<double>("stop_loss");
  reader.expect(" threshold=");
  record.rule.threshold = reader.tokens("threshold");
  reader.expect(" lead=");
  record.reason.lead = reader.seconds("lead");
  reader.expect(" gpu_price=");
  record.reason.gpu_price = reader.number<double>("gpu_price");
}

}  // namespace

Result<DecisionRecord> parse_decision(std::string_view line, const std::string& where) {
  Reader reader(line);
  DecisionRecord record;
  record.reason.choice = named(reader, reader.word(" "), "decision", kChoices);
  reader.expect(" t=");
  record.at = reader.seconds("t");
  reader.expect(" req=");
  record.request = reader.number<RequestId>("req");
  reader.expect(" pfx=");
  record.prefix = read_key(reader);
  reader.expect(" prompt=");
  record.prompt = reader.tokens("prompt");
  reader.expect(" resident=");
  record.resident = reader.tokens("resident");
  reader.expect(" k=");
  record.load_end = reader.tokens("k");
  read_sides(reader, record);
  read_rule(reader, record);
  reader.expect(" | alt");
  if (reader.at_end()) reader.fail("no alternatives");
  while (!reader.at_end()) {
    reader.expect(" ");
    read_alternative(reader, record);
  }
  const auto chosen = std::find_if(record.alternatives.begin(), record.alternatives.end(),
                                   [&](const Alternative& a) { return a.load_end == record.load_end; });
  if (chosen == record.alternatives.end()) {
    reader.fail("k is none of the alternatives");
  } else {
    record.reason.chosen = static_cast<std::uint8_t>(chosen - record.alternatives.begin());
  }
  if (!reader.problem().empty()) {
    return bad_input(where, reader.problem(), "decision lines come from 'fulcrum replay --decisions FILE'");
  }
  return record;
}

}  // namespace fulcrum
