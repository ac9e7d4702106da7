#include "base/text.h"

#include <charconv>

namespace fulcrum {

namespace {

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void split(std::string_view line, char separator, std::vector<std::string_view>& out) {
  out.clear();
  for (;;) {
    const auto end = line.find(separator);
    out.push_back(trim(line.substr(0, end)));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_all<std::int64_t>(text);
}
std::optional<double> parse_number(std::string_view text) {
  return parse_all<double>(text);
}

}  // namespace fulcrum
