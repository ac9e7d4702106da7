#include "cli/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace fulcrum::cli {
namespace {

/// Bytes of the character that a lead byte opens, and the least code point that needs so many; 0 for none.
struct Lead {
  std::size_t size = 0;
  std::uint32_t least = 0;
  std::uint32_t bits = 0;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, byte};
  if ((byte & 0xE0U) == 0xC0U) return {2, 0x80, byte & 0x1FU};
  if ((byte & 0xF0U) == 0xE0U) return {3, 0x800, byte & 0x0FU};
  if ((byte & 0xF8U) == 0xF0U) return {4, 0x10000, byte & 0x07U};
  return {};
}

/// Size of the printable character at the front of a text that is not empty; 0 where there is none.
std::size_t printable_size(std::string_view text) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.size == 0 || lead.size > text.size()) return 0;
  std::uint32_t point = lead.bits;
  for (std::size_t i = 1; i < lead.size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return 0;
    point = (point << 6U) | (byte & 0x3FU);
  }
  const bool control = (point < 0x20 && point != '\t' && point != '\n') || (point >= 0x7F && point < 0xA0);
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  return control || surrogate || point < lead.least || point > 0x10FFFF ? 0 : lead.size;
}

}  // namespace

std::size_t first_unprintable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = printable_size(text.substr(at));
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t good = std::min(first_unprintable(text), text.size());
    out += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty()) break;
    std::array<char, 5> escape{};
    std::snprintf(escape.data(), escape.size(), "\\x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(text[0])));
    out += escape.data();
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace fulcrum::cli
