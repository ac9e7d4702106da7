#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/checksum.h"
#include "base/text.h"
#include "replay/trace_builder.h"
#include "replay/trace_fields.h"

namespace fulcrum::replay {

namespace {

constexpr std::int64_t kDefaultBlock = 512;
constexpr std::uint64_t kSeed = 0x6373'7620'726f'7773;

/// Days from 1970-01-01 in the Gregorian calendar: years begin in March, so that a leap day comes last.
std::int64_t days_since_epoch(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t y = month > 2 ? year : year - 1;
  const std::int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return 365 * y + y / 4 - y / 100 + y / 400 + day_of_year - 719'468;
}

/// "2023-11-16 18:15:46.6805900" as seconds since 1970; the T form too. Nothing where it is not that.
std::optional<double> parse_date_time(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return {};
  const auto year = parse_integer(text.substr(0, 4));
  const auto month = parse_integer(text.substr(5, 2));
  const auto day = parse_integer(text.substr(8, 2));
  const auto hour = parse_integer(text.substr(11, 2));
  const auto minute = parse_integer(text.substr(14, 2));
  const auto second = parse_number(text.substr(17));
  if (!year || !month || !day || !hour || !minute || !second) return {};
  const bool in_range = *year >= 1970 && *month >= 1 && *month <= 12 && *day >= 1 && *day <= 31 &&
                        *hour >= 0 && *hour <= 23 && *minute >= 0 && *minute <= 59 && *second >= 0 &&
                        *second < 61;
  if (!in_range || (text[10] != ' ' && text[10] != 'T')) return {};
  const auto day_seconds = static_cast<double>(days_since_epoch(*year, *month, *day) * 86'400);
  return day_seconds + static_cast<double>(*hour * 3'600 + *minute * 60) + *second;
}

/// Positions of the columns that matter; nothing where a column is missing.
struct Columns {
  std::optional<std::size_t> arrival, prompt, output, session;
  bool dated = false;
  std::size_t count = 0;

  [[nodiscard]] bool complete() const { return arrival && prompt && output; }

  static Columns from_header(const std::vector<std::string_view>& names) {
    Columns columns;
    columns.count = names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "arrival_s") columns.arrival = i;
      if (names[i] == "TIMESTAMP") columns.arrival = i, columns.dated = true;
      if (names[i] == "prompt_tokens" || names[i] == "ContextTokens") columns.prompt = i;
      if (names[i] == "output_tokens" || names[i] == "GeneratedTokens") columns.output = i;
      if (names[i] == "session") columns.session = i;
    }
    return columns;
  }
};

class CsvParser final : public TraceParser {
 public:
  explicit CsvParser(const TraceOptions& options)
      : block_(options.block_tokens.value() > 0 ? options.block_tokens.value() : kDefaultBlock) {}

  [[nodiscard]] bool recognises(std::string_view line) const override {
    std::vector<std::string_view> names;
    split(line, ',', names);
    return Columns::from_header(names).complete();
  }

  std::string read(std::string_view line, TraceBuilder& out) override {
    if (line.front() == '#') return {};
    split(line, ',', cells_);
    if (!columns_.complete()) return read_header();
    if (cells_.size() != columns_.count) {
      return "has " + std::to_string(cells_.size()) + " columns, the header has " +
             std::to_string(columns_.count);
    }
    const std::string_view when = cells_[*columns_.arrival];
    const auto arrival = columns_.dated ? parse_date_time(when) : parse_number(when);
    if (!arrival || !(*arrival >= 0 && *arrival <= (columns_.dated ? 1e11 : kTimeMax))) {
      return "\"" + std::string(when) + "\" is not an arrival time";
    }
    TraceRequest request;
    request.arrival = Seconds(*arrival);
    std::string problem;
    request.prompt = tokens(*columns_.prompt, 1, problem);
    request.output = tokens(*columns_.output, 0, problem);
    if (!problem.empty()) return problem;
    if (columns_.session) request.session = session(cells_[*columns_.session]);
    out.add(request, unique_keys(request.prompt));
    return {};
  }

  [[nodiscard]] Tokens block_tokens() const override { return Tokens(block_); }

 private:
  std::string read_header() {
    columns_ = Columns::from_header(cells_);
    if (columns_.complete()) return {};
    return "the header needs arrival_s,prompt_tokens,output_tokens (or "
           "TIMESTAMP,ContextTokens,GeneratedTokens)";
  }

  [[nodiscard]] Tokens tokens(std::size_t column, std::int64_t low, std::string& problem) const {
    const auto value = parse_integer(cells_[column]);
    if (value && *value >= low && *value <= kPromptMax) return Tokens(*value);
    problem = "\"" + std::string(cells_[column]) + "\" is not a number of tokens from " +
              std::to_string(low) + " to " + std::to_string(kPromptMax);
    return Tokens(low);
  }

  std::uint32_t session(std::string_view name) {
    if (name.empty()) return 0;
    return sessions_.try_emplace(std::string(name), static_cast<std::uint32_t>(sessions_.size() + 1))
        .first->second;
  }

  /// Lengths alone show no reuse, so none is invented: no two blocks share a key.
  const std::vector<BlockKey>& unique_keys(Tokens prompt) {
    keys_.resize(static_cast<std::size_t>((prompt.value() + block_ - 1) / block_));
    for (BlockKey& key : keys_) {
      const std::uint64_t number = next_key_++;
      const Hash128 hash = hash128(std::as_bytes(std::span(&number, 1)), kSeed);
      key = {hash.high, hash.low};
    }
    return keys_;
  }

  std::int64_t block_;
  Columns columns_;
  std::uint64_t next_key_ = 0;
  std::unordered_map<std::string, std::uint32_t> sessions_;
  std::vector<std::string_view> cells_;
  std::vector<BlockKey> keys_;
};

}  // namespace

std::unique_ptr<TraceParser> make_csv_parser(const TraceOptions& options) {
  return std::make_unique<CsvParser>(options);
}

}  // namespace fulcrum::replay
