#include "base/quantity_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <system_error>

#include "base/document.h"

namespace fulcrum {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKibi = 1024;
constexpr auto kBinarySizes = std::to_array<Unit>({{"PiB", kKibi* kKibi* kKibi* kKibi* kKibi},
                                                   {"TiB", kKibi* kKibi* kKibi* kKibi},
                                                   {"GiB", kKibi* kKibi* kKibi},
                                                   {"MiB", kKibi* kKibi},
                                                   {"KiB", kKibi},
                                                   {"B", 1}});
constexpr auto kDecimalSizes = std::to_array<Unit>(
    {{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}});
constexpr auto kTimes = std::to_array<Unit>(
    {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "010" is eight to some readers and ten to others.
bool looks_octal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && is_digit(text[1]);
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto found = std::ranges::find(units, name, &Unit::name);
  return found == units.end() ? nullptr : &*found;
}

struct Split {
  std::string_view number;
  std::string_view unit;
};

/// "1.5e3 GiB" -> {"1.5e3", "GiB"}: the unit is the run of letters (and '/') at the end.
Split split(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0 && !is_digit(text[start - 1]) && text[start - 1] != '.' && text[start - 1] != ' ') --start;
  std::string_view number = text.substr(0, start);
  while (number.ends_with(' ')) number.remove_suffix(1);
  return {number, text.substr(start)};
}

std::optional<double> scaled(std::string_view number, double factor) {
  const auto value = scalar_number(number);
  if (!value || !std::isfinite(*value * factor)) return std::nullopt;
  // Dividing by a power of ten is exact where multiplying by its inverse is not: "3 ms" is 3/1000.
  return factor < 1 ? *value / std::round(1 / factor) : *value * factor;
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, decimals);
  std::string out(text.data(), end.ptr);
  if (out.find('.') == std::string::npos) return out;
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

/// Three significant digits, without an exponent.
std::string short_number(double value) {
  const double size = std::abs(value);
  return fixed(value, size < 10 ? 2 : size < 100 ? 1 : 0);
}

std::string in_unit_of(double value, std::span<const Unit> units, std::string_view suffix) {
  const auto fits = [value](const Unit& unit) { return std::abs(value) >= unit.factor; };
  auto unit = std::ranges::find_if(units, fits);
  if (unit == units.end() || value == 0) unit = std::ranges::find(units, 1.0, &Unit::factor);
  return short_number(value / unit->factor) + " " + std::string(unit->name) + std::string(suffix);
}

/// The first unit whose text parses back to `value`, else the unit of factor 1.
template <class Parse>
std::string exact_text(double value, std::span<const Unit> units, std::string_view suffix, Parse parse) {
  for (const Unit& unit : units) {
    if (std::abs(value) < unit.factor) continue;
    std::string text = format_exact(value / unit.factor) + " " + std::string(unit.name) + std::string(suffix);
    const auto back = parse(text);
    if (back && back->value() == value && text.find('e') == std::string::npos) return text;
  }
  const auto plain = std::ranges::find(units, 1.0, &Unit::factor);
  return format_exact(value) + " " + std::string(plain->name) + std::string(suffix);
}

}  // namespace

std::optional<double> scalar_number(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  if (looks_octal(text)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> scalar_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || looks_octal(text)) return std::nullopt;
  return value;
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const Split parts = split(text);
  const Unit* unit = find_unit(kBinarySizes, parts.unit);
  if (unit == nullptr) unit = find_unit(kDecimalSizes, parts.unit);
  if (unit == nullptr) return std::nullopt;
  std::int64_t exact = 0;
  const auto whole = scalar_integer(parts.number);
  if (whole && !__builtin_mul_overflow(*whole, static_cast<std::int64_t>(unit->factor), &exact))
    return Bytes(exact);
  const auto value = scaled(parts.number, unit->factor);
  if (!value || std::abs(*value) >= 0x1p63) return std::nullopt;
  return Bytes(std::llround(*value));
}

std::optional<Seconds> parse_seconds(std::string_view text) {
  const Split parts = split(text);
  const Unit* unit = find_unit(kTimes, parts.unit);
  const auto value = unit == nullptr ? std::nullopt : scaled(parts.number, unit->factor);
  return value ? std::optional(Seconds(*value)) : std::nullopt;
}

std::optional<BytesPerSecond> parse_rate(std::string_view text) {
  if (!text.ends_with("/s")) return std::nullopt;
  text.remove_suffix(2);
  const Split parts = split(text);
  const Unit* unit = find_unit(kDecimalSizes, parts.unit);
  if (unit == nullptr) unit = find_unit(kBinarySizes, parts.unit);
  const auto value = unit == nullptr ? std::nullopt : scaled(parts.number, unit->factor);
  return value ? std::optional(BytesPerSecond(*value)) : std::nullopt;
}

std::string format(Bytes bytes) {
  return in_unit_of(static_cast<double>(bytes.value()), kBinarySizes, "");
}

std::string format(BytesPerSecond rate) {
  return in_unit_of(rate.value(), kDecimalSizes, "/s");
}

std::string format(Seconds time) {
  const double value = std::abs(time.value());
  if (value > 0 && value < 1e-9) return "0 s";
  if (value >= 1 && value < 120) return short_number(time.value()) + " s";
  return in_unit_of(time.value(), kTimes, "");
}

std::string format(Tokens tokens) {
  std::string out = std::to_string(tokens.value());
  const std::size_t first = out.starts_with('-') ? 1 : 0;
  for (std::size_t at = out.size(); at > first + 3;) out.insert(at -= 3, ",");
  return out;
}

std::string format_exact(double number) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end.ptr};
}

std::string format_exact(Bytes bytes) {
  std::string best = std::to_string(bytes.value()) + " B";
  for (const std::span<const Unit> units :
       {std::span<const Unit>(kBinarySizes), std::span<const Unit>(kDecimalSizes)}) {
    for (const Unit& unit : units) {
      const auto factor = static_cast<std::int64_t>(unit.factor);
      if (bytes.value() == 0 || bytes.value() % factor != 0) continue;
      const std::string text = std::to_string(bytes.value() / factor) + " " + std::string(unit.name);
      if (text.size() < best.size()) best = text;
    }
  }
  return best;
}

std::string format_exact(Seconds time) {
  return exact_text(time.value(), std::span(kTimes).subspan(3), "", parse_seconds);
}

std::string format_exact(BytesPerSecond rate) {
  return exact_text(rate.value(), kDecimalSizes, "/s", parse_rate);
}

}  // namespace fulcrum
