#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/errors.h"
#include "base/text.h"
#include "calibrate/prefill_source.h"

namespace fulcrum::calibrate {

namespace {

constexpr std::array<std::string_view, 3> kColumns = {"new_tokens", "cached_tokens", "seconds"};
constexpr std::int64_t kTokensMax = 1'000'000'000;
constexpr int kProblemsShown = 20;

using Cells = std::vector<std::string_view>;
/// Position of each of kColumns in a row.
using Places = std::array<std::size_t, kColumns.size()>;

std::optional<Places> read_header(const Cells& cells) {
  Places places{};
  for (std::size_t c = 0; c < kColumns.size(); ++c) {
    places[c] = cells.size();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i] == kColumns[c]) places[c] = i;
    }
    if (places[c] == cells.size()) return std::nullopt;
  }
  return places;
}

/// Fills `sample`; returns what is wrong, or an empty text.
std::string read_row(const Cells& cells, const Places& places, std::size_t width, PrefillSample& sample) {
  if (cells.size() != width) {
    return std::to_string(cells.size()) + " columns, the header has " + std::to_string(width);
  }
  const auto wrong = [&](std::size_t column, const char* wanted) {
    return std::string(kColumns[column]) + " \"" + std::string(cells[places[column]]) + "\" is not " + wanted;
  };
  const auto fresh = parse_integer(cells[places[0]]);
  if (!fresh || *fresh < 1 || *fresh > kTokensMax) return wrong(0, "a whole number of 1 or more");
  const auto cached = parse_integer(cells[places[1]]);
  if (!cached || *cached < 0 || *cached > kTokensMax) return wrong(1, "a whole number of 0 or more");
  const auto seconds = parse_number(cells[places[2]]);
  if (!seconds || !std::isfinite(*seconds) || *seconds <= 0) return wrong(2, "a positive number of seconds");
  sample = {Tokens(*fresh), Tokens(*cached), Seconds(*seconds)};
  return {};
}

/// Problems by line, cut off where a reader would stop reading anyway.
class LineProblems {
 public:
  explicit LineProblems(const std::string& path) : path_(path) {}

  void add(std::size_t line, const std::string& what) {
    if (++count_ > kProblemsShown) return;
    text_ += (text_.empty() ? "" : "\n") + path_ + ":" + std::to_string(line) + ": " + what;
  }

  [[nodiscard]] bool empty() const { return count_ == 0; }

  [[nodiscard]] Error error() const {
    std::string text = text_;
    if (count_ > kProblemsShown) text += "\nand " + std::to_string(count_ - kProblemsShown) + " more";
    return make_error(ErrorKind::bad_input, "read prefill samples", path_, text,
                      "mend or remove these lines");
  }

 private:
  const std::string& path_;
  int count_ = 0;
  std::string text_;
};

}  // namespace

Result<std::vector<PrefillSample>> read_prefill_csv(const std::string& path) {
  auto text = read_file(path);
  if (text.has_error()) return text.error();
  std::vector<PrefillSample> samples;
  LineProblems problems(path);
  std::optional<Places> places;
  std::size_t width = 0;
  Cells lines;
  Cells cells;
  split(*text, '\n', lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].front() == '#') continue;
    split(lines[i], ',', cells);
    if (!places) {
      places = read_header(cells);
      width = cells.size();
      if (places) continue;
      return bad_input(path + ":" + std::to_string(i + 1),
                       "the header must name new_tokens,cached_tokens,seconds",
                       "write that line above the samples");
    }
    PrefillSample sample;
    const std::string problem = read_row(cells, *places, width, sample);
    if (problem.empty()) {
      samples.push_back(sample);
    } else {
      problems.add(i + 1, problem);
    }
  }
  if (!problems.empty()) return problems.error();
  if (samples.empty()) {
    return bad_input(path, "the file holds no samples",
                     "write new_tokens,cached_tokens,seconds and one line for each timing");
  }
  return samples;
}

}  // namespace fulcrum::calibrate
