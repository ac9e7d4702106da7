#include <algorithm>
#include <unordered_map>

#include "base/document.h"
#include "base/node_text.h"
#include "base/quantity_text.h"

namespace fulcrum {
namespace {

/// The nearest valid key, or all of them where none is near.
std::string valid_keys(std::string_view key, std::span<const std::string_view> names) {
  const std::string_view near = nearest(key, names);
  if (!near.empty()) return "; did you mean '" + std::string(near) + "'?";
  std::string out;
  for (const std::string_view name : names)
    out += (out.empty() ? "; valid here: " : ", ") + std::string(name);
  return out;
}

}  // namespace
/// The items of a list, or none with a problem recorded.
std::span<const Node> MapReader::items(std::string_view key) {
  const Node* node = get(key, true);
  if (node == nullptr) return {};
  if (node->kind != NodeKind::list) {
    problem(key, "wants a list, got " + found(*node));
    return {};
  }
  return node->items;
}

std::vector<double> MapReader::numbers_of(std::string_view key, std::span<const Node> nodes) {
  std::vector<double> out;
  for (const Node& node : nodes) {
    const bool plain = node.kind == NodeKind::scalar && !node.quoted;
    const auto value = plain ? scalar_number(node.scalar) : std::nullopt;
    if (!value)
      problems_->add(node.mark, "'" + key_path(path_, key) + "' wants numbers only, got " + found(node));
    out.push_back(value.value_or(0));
  }
  return out;
}

std::vector<double> MapReader::numbers(std::string_view key) {
  return numbers_of(key, items(key));
}

std::vector<std::vector<double>> MapReader::number_rows(std::string_view key) {
  std::vector<std::vector<double>> out;
  for (const Node& row : items(key)) {
    if (row.kind != NodeKind::list)
      problems_->add(row.mark, "'" + key_path(path_, key) + "' wants lists of numbers, got " + found(row));
    out.push_back(numbers_of(key, row.items));
  }
  return out;
}

std::vector<std::string> MapReader::texts(std::string_view key) {
  std::vector<std::string> out;
  for (const Node& item : items(key)) {
    if (item.kind != NodeKind::scalar)
      problems_->add(item.mark, "'" + key_path(path_, key) + "' wants texts only, got " + found(item));
    out.push_back(item.scalar);
  }
  return out;
}

MapReader MapReader::map(std::string_view key) {
  const Node* node = get(key, true);
  if (node != nullptr) return {*node, *problems_, key_path(path_, key)};
  MapReader missing(empty_map(), *problems_, key_path(path_, key));
  missing.mark_ = mark_;
  missing.not_a_map_ = true;
  return missing;
}

MapReader MapReader::map_or_empty(std::string_view key) {
  if (has(key)) return map(key);
  ignore(key);
  MapReader empty(empty_map(), *problems_, key_path(path_, key));
  empty.mark_ = mark_;
  return empty;
}

std::vector<MapReader> MapReader::maps(std::string_view key) {
  std::vector<MapReader> out;
  for (const Node& item : items(key)) {
    out.emplace_back(item, *problems_, key_path(path_, key) + "[" + std::to_string(out.size()) + "]");
  }
  return out;
}

void MapReader::finish() {
  const std::vector<std::string_view> names(asked_.begin(), asked_.end());
  std::unordered_map<std::string_view, int> first_lines;
  for (const auto& [key, value] : node_->fields) {
    const auto [first, fresh] = first_lines.emplace(key, value.key_mark.line);
    if (!fresh) {
      problems_->add(value.key_mark, "duplicate key '" + key_path(path_, key) + "', first given on line " +
                                         std::to_string(first->second));
    } else if (std::ranges::find(names, key) == names.end()) {
      problems_->add(value.key_mark, "unknown key '" + key_path(path_, key) + "'" + valid_keys(key, names));
    }
  }
}

}  // namespace fulcrum
