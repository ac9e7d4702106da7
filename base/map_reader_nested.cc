#include <algorithm>

#include "base/document.h"
#include "base/quantity_text.h"

namespace fulcrum {
namespace {

const Node kNoMap{.kind = NodeKind::map,
                  .mark = {1, 1},
                  .quoted = false,
                  .scalar = {},
                  .items = {},
                  .fields = {},
                  .key_marks = {}};

std::string join(const std::string& path, std::string_view key) {
  return (path.empty() ? "" : path + ".") + std::string(key);
}

}  // namespace

/// The items of a list, or none with a problem recorded.
std::span<const Node> MapReader::items(std::string_view key) {
  const Node* node = get(key, true);
  if (node == nullptr) return {};
  if (node->kind != NodeKind::list) {
    problem(key, "wants a list");
    return {};
  }
  return node->items;
}

std::vector<double> MapReader::numbers(std::string_view key) {
  std::vector<double> out;
  for (const Node& item : items(key)) {
    const bool plain = item.kind == NodeKind::scalar && !item.quoted;
    const auto value = plain ? parse_number(item.scalar) : std::nullopt;
    if (!value) problems_->add(item.mark, "'" + join(path_, key) + "' wants numbers only");
    out.push_back(value.value_or(0));
  }
  return out;
}

std::vector<std::string> MapReader::texts(std::string_view key) {
  std::vector<std::string> out;
  for (const Node& item : items(key)) {
    if (item.kind != NodeKind::scalar)
      problems_->add(item.mark, "'" + join(path_, key) + "' wants texts only");
    out.push_back(item.scalar);
  }
  return out;
}

MapReader MapReader::map(std::string_view key) {
  const Node* node = get(key, true);
  if (node != nullptr) return {*node, *problems_, join(path_, key)};
  MapReader missing(kNoMap, *problems_, join(path_, key));
  missing.mark_ = mark_;
  missing.not_a_map_ = true;
  return missing;
}

std::vector<MapReader> MapReader::maps(std::string_view key) {
  std::vector<MapReader> out;
  for (const Node& item : items(key)) {
    out.emplace_back(item, *problems_, join(path_, key) + "[" + std::to_string(out.size()) + "]");
  }
  return out;
}

void MapReader::finish() {
  const std::vector<std::string_view> names(asked_.begin(), asked_.end());
  for (std::size_t i = 0; i < node_->fields.size(); ++i) {
    const std::string& key = node_->fields[i].first;
    const Mark mark = node_->key_marks[i];
    const auto same = [&key](const auto& field) { return field.first == key; };
    const auto first = std::ranges::find_if(node_->fields, same) - node_->fields.begin();
    if (static_cast<std::size_t>(first) != i) {
      const int line = node_->key_marks[static_cast<std::size_t>(first)].line;
      problems_->add(mark,
                     "duplicate key '" + join(path_, key) + "', first given on line " + std::to_string(line));
      continue;
    }
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string_view near = nearest(key, names);
    std::string hint;
    if (!near.empty()) {
      hint = "; did you mean '" + std::string(near) + "'?";
    } else {
      for (const std::string_view name : names)
        hint += (hint.empty() ? "; valid here: " : ", ") + std::string(name);
    }
    problems_->add(mark, "unknown key '" + join(path_, key) + "'" + hint);
  }
}

}  // namespace fulcrum
