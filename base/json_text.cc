#include "base/json_text.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace fulcrum {
namespace {

constexpr std::size_t kEscapeSize = 6;  // \uXXXX

/// The code of the escape \uXXXX at `at`.
std::optional<std::uint32_t> escape_at(const std::string& text, std::size_t at) {
  if (at + kEscapeSize > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  std::uint32_t code = 0;
  const char* const end = text.data() + at + kEscapeSize;
  const auto [stop, error] = std::from_chars(text.data() + at + 2, end, code, 16);
  return error == std::errc() && stop == end ? std::optional(code) : std::nullopt;
}

/// The character of the surrogate pair at `at`.
std::optional<std::uint32_t> pair_at(const std::string& text, std::size_t at) {
  const auto high = escape_at(text, at);
  const auto low = escape_at(text, at + kEscapeSize);
  if (!high || !low || (*high & 0xFC00U) != 0xD800U || (*low & 0xFC00U) != 0xDC00U) return std::nullopt;
  return 0x10000U + ((*high & 0x3FFU) << 10) + (*low & 0x3FFU);
}

void append_utf8(std::string& out, std::uint32_t code) {
  out += static_cast<char>(0xF0U | (code >> 18));
  for (const unsigned shift : {12U, 6U, 0U}) out += static_cast<char>(0x80U | ((code >> shift) & 0x3FU));
}

}  // namespace

std::string join_surrogates(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (const auto code = pair_at(text, at)) {
      append_utf8(out, *code);
      at += 2 * kEscapeSize;
    } else {
      // A backslash takes its next character with it: in "\\ud83d" nothing is an escape but the backslash.
      const std::size_t count = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
      out.append(text, at, count);
      at += count;
    }
  }
  return out;
}

}  // namespace fulcrum
