#include <algorithm>
#include <array>
#include <numeric>

#include "base/document.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr std::size_t kMostShown = 50;

/// Optimal string alignment distance: insert, delete, replace, swap two neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

void Problems::add(Mark mark, std::string what) {
  // Values are quoted as they stand in the file: one of several lines stays one problem on one line.
  std::ranges::replace_if(
      what, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
  problems_.push_back({mark, std::move(what)});
}

Error Problems::error(std::string operation) const {
  std::vector<Problem> sorted = problems_;
  std::ranges::stable_sort(sorted, [](const Problem& a, const Problem& b) {
    return std::pair(a.mark.line, a.mark.column) < std::pair(b.mark.line, b.mark.column);
  });
  std::string lines;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostShown); ++i) {
    const auto& [mark, what] = sorted[i];
    lines += (i == 0 ? "" : "\n") + where_ + ":" + std::to_string(mark.line) + ":" +
             std::to_string(mark.column) + ": " + what;
  }
  if (sorted.size() > kMostShown)
    lines += "\nand " + std::to_string(sorted.size() - kMostShown) + " more problems";
  return make_error(ErrorKind::bad_input, std::move(operation), where_, std::move(lines));
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kLongestWord = 64;  // nobody misspells a key into a page of text
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t best_distance = kLongestWord;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(word, name);
    const std::size_t allowed = std::max<std::size_t>(1, std::min<std::size_t>(3, name.size() / 3));
    if (distance <= allowed && distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string yaml_quote(std::string_view text) {
  constexpr auto kReserved = std::to_array<std::string_view>(
      {"true", "false", "null", "yes", "no", "on", "off", "nan", "inf", "infinity", "y", "n"});
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_plain = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
  };
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const bool starts_plain = !text.empty() && (is_letter(text[0]) || text[0] == '/' || text[0] == '_');
  const bool reserved = std::ranges::find(kReserved, lower) != kReserved.end();
  if (starts_plain && !reserved && std::ranges::all_of(text, is_plain)) return std::string(text);

  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace fulcrum
