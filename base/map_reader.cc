#include <algorithm>

#include "base/document.h"
#include "base/node_text.h"
#include "base/quantity_text.h"

namespace fulcrum {
namespace {

std::string quoted_name(const std::string& path, std::string_view key) {
  return "'" + key_path(path, key) + "'";
}

std::string show(double value) {
  return format_exact(value);
}
std::string show(std::int64_t value) {
  return std::to_string(value);
}
std::string show(Bytes value) {
  return format_exact(value);
}
std::string show(Seconds value) {
  return format_exact(value);
}
std::string show(BytesPerSecond value) {
  return format_exact(value);
}

/// "must be between 1 and 8", with an open end left out.
template <class T, class Raw>
std::string outside(T value, Range<Raw> range) {
  const bool open_low = range.low == std::numeric_limits<Raw>::lowest();
  const bool open_high = range.high == std::numeric_limits<Raw>::max();
  const std::string low = show(T(range.low));
  const std::string high = show(T(range.high));
  if (open_low) return " must be at most " + high + ", got " + show(value);
  if (open_high) return " must be at least " + low + ", got " + show(value);
  return " must be between " + low + " and " + high + ", got " + show(value);
}

double raw(double value) {
  return value;
}
std::int64_t raw(std::int64_t value) {
  return value;
}
template <class Tag, class Rep>
Rep raw(Quantity<Tag, Rep> value) {
  return value.value();
}

bool looks_like_number(const std::string& text) {
  return scalar_number(text).has_value();
}

/// The likeliest way out of a wrong value.
std::string hint(const Node& node, std::string_view wanted) {
  if (node.kind != NodeKind::scalar || !looks_like_number(node.scalar)) return "";
  if (wanted.find("such as") != std::string_view::npos) return ": add its unit";
  return node.quoted ? "; remove the quotes" : "";
}

}  // namespace

MapReader::MapReader(const Node& node, Problems& problems, std::string path)
    : node_(&node), problems_(&problems), path_(std::move(path)), mark_(node.mark) {
  if (node.kind == NodeKind::map) return;
  const std::string name = path_.empty() ? "the document" : "'" + path_ + "'";
  problems_->add(mark_, name + " wants a map of keys, got " + found(node));
  node_ = &empty_map();
  not_a_map_ = true;
}

bool MapReader::has(std::string_view key) const {
  return node_->find(key) != nullptr;
}

Mark MapReader::mark(std::string_view key) const {
  const Node* node = node_->find(key);
  return node == nullptr ? mark_ : node->mark;
}

void MapReader::problem(std::string_view key, std::string what) {
  problems_->add(mark(key), quoted_name(path_, key) + " " + std::move(what));
}

const Node* MapReader::get(std::string_view key, bool required) {
  ignore(key);
  const Node* node = node_->find(key);
  if (node == nullptr && required && !not_a_map_) {
    problems_->add(mark_, "missing key " + quoted_name(path_, key));
  }
  return node;
}

void MapReader::ignore(std::string_view key) {
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.emplace_back(key);
}

template <class T, class Raw, class Parse>
T MapReader::read(std::string_view key, bool required, T fallback, Range<Raw> range, Parse parse,
                  std::string_view wanted) {
  const Node* node = get(key, required);
  if (node == nullptr) return fallback;
  const auto value = node->kind == NodeKind::scalar ? parse(*node) : std::nullopt;
  if (!value) {
    problem(key, "wants " + std::string(wanted) + ", got " + found(*node) + hint(*node, wanted));
    return fallback;
  }
  if (raw(*value) < range.low || raw(*value) > range.high) {
    problems_->add(node->mark, quoted_name(path_, key) + outside(*value, range));
    return fallback;
  }
  return *value;
}

double MapReader::read_number(std::string_view key, bool required, double fallback, Range<double> range) {
  const auto parse = [](const Node& node) { return node.quoted ? std::nullopt : scalar_number(node.scalar); };
  return read<double>(key, required, fallback, range, parse, "a number");
}

std::int64_t MapReader::read_integer(std::string_view key, bool required, std::int64_t fallback,
                                     Range<std::int64_t> range) {
  const auto parse = [](const Node& node) {
    return node.quoted ? std::nullopt : scalar_integer(node.scalar);
  };
  return read<std::int64_t>(key, required, fallback, range, parse, "a whole number");
}

Bytes MapReader::read_bytes(std::string_view key, bool required, Bytes fallback, Range<std::int64_t> range) {
  const auto parse = [](const Node& node) { return parse_bytes(node.scalar); };
  return read<Bytes>(key, required, fallback, range, parse, "bytes such as '64 GiB'");
}

Seconds MapReader::read_seconds(std::string_view key, bool required, Seconds fallback, Range<double> range) {
  const auto parse = [](const Node& node) { return parse_seconds(node.scalar); };
  return read<Seconds>(key, required, fallback, range, parse, "a time such as '20 ms'");
}

BytesPerSecond MapReader::read_rate(std::string_view key, bool required, BytesPerSecond fallback,
                                    Range<double> range) {
  const auto parse = [](const Node& node) { return parse_rate(node.scalar); };
  return read<BytesPerSecond>(key, required, fallback, range, parse, "a rate such as '2.5 GB/s'");
}

bool MapReader::read_boolean(std::string_view key, bool required, bool fallback) {
  const Node* node = get(key, required);
  if (node == nullptr) return fallback;
  if (node->kind == NodeKind::scalar && !node->quoted) {
    if (node->scalar == "true") return true;
    if (node->scalar == "false") return false;
  }
  problem(key, "wants true or false, got " + found(*node));
  return fallback;
}

std::string MapReader::read_text(std::string_view key, bool required, std::string fallback) {
  const Node* node = get(key, required);
  if (node == nullptr) return fallback;
  if (node->kind != NodeKind::scalar) {
    problem(key, "wants text, got " + found(*node));
    return fallback;
  }
  const bool other_type =
      node->scalar == "true" || node->scalar == "false" || looks_like_number(node->scalar);
  if (!node->quoted && other_type) {
    problem(key, "wants text, got " + found(*node) + "; write \"" + node->scalar + "\" if that is the text");
    return fallback;
  }
  return node->scalar;
}

std::size_t MapReader::read_choice(std::string_view key, bool required, std::size_t fallback,
                                   std::span<const std::string_view> names) {
  const Node* node = get(key, required);
  if (node == nullptr) return fallback;
  const auto chosen = node->kind == NodeKind::scalar ? std::ranges::find(names, node->scalar) : names.end();
  if (chosen != names.end()) return static_cast<std::size_t>(chosen - names.begin());
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  const std::string_view near =
      node->kind == NodeKind::scalar ? nearest(node->scalar, names) : std::string_view();
  const std::string hint = near.empty() ? "" : "; did you mean '" + std::string(near) + "'?";
  problem(key, "wants one of " + list + ", got " + found(*node) + hint);
  return fallback;
}

double MapReader::number(std::string_view key, Range<double> range) {
  return read_number(key, true, 0, range);
}
std::int64_t MapReader::integer(std::string_view key, Range<std::int64_t> range) {
  return read_integer(key, true, 0, range);
}
bool MapReader::boolean(std::string_view key) {
  return read_boolean(key, true, false);
}
std::string MapReader::text(std::string_view key) {
  return read_text(key, true, {});
}
std::size_t MapReader::choice(std::string_view key, std::span<const std::string_view> names) {
  return read_choice(key, true, 0, names);
}
Bytes MapReader::bytes(std::string_view key, Range<std::int64_t> range) {
  return read_bytes(key, true, Bytes(0), range);
}
Seconds MapReader::seconds(std::string_view key, Range<double> range) {
  return read_seconds(key, true, Seconds(0), range);
}
BytesPerSecond MapReader::rate(std::string_view key, Range<double> range) {
  return read_rate(key, true, BytesPerSecond(0), range);
}

double MapReader::number_or(std::string_view key, double fallback, Range<double> range) {
  return read_number(key, false, fallback, range);
}
std::int64_t MapReader::integer_or(std::string_view key, std::int64_t fallback, Range<std::int64_t> range) {
  return read_integer(key, false, fallback, range);
}
bool MapReader::boolean_or(std::string_view key, bool fallback) {
  return read_boolean(key, false, fallback);
}
std::string MapReader::text_or(std::string_view key, std::string fallback) {
  return read_text(key, false, std::move(fallback));
}
std::size_t MapReader::choice_or(std::string_view key, std::size_t fallback,
                                 std::span<const std::string_view> names) {
  return read_choice(key, false, fallback, names);
}
Bytes MapReader::bytes_or(std::string_view key, Bytes fallback, Range<std::int64_t> range) {
  return read_bytes(key, false, fallback, range);
}
Seconds MapReader::seconds_or(std::string_view key, Seconds fallback, Range<double> range) {
  return read_seconds(key, false, fallback, range);
}
BytesPerSecond MapReader::rate_or(std::string_view key, BytesPerSecond fallback, Range<double> range) {
  return read_rate(key, false, fallback, range);
}

}  // namespace fulcrum
