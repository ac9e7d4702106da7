// Small words for lines of text tables: trim, split, and numbers that are whole or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fulcrum {

/// Without spaces, tabs and carriage returns at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);
/// Trimmed parts between `separator`s, at least one. `out` keeps its memory from call to call.
void split(std::string_view line, char separator, std::vector<std::string_view>& out);
/// All of `text` as a number, or nothing. parse_number gives what it reads, "nan" and "inf" too.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

}  // namespace fulcrum
