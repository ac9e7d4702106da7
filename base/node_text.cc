#include "base/node_text.h"

namespace fulcrum {

std::string found(const Node& node) {
  constexpr std::size_t kMostShown = 40;
  switch (node.kind) {
    case NodeKind::null:
      return "nothing";
    case NodeKind::list:
      return "a list";
    case NodeKind::map:
      return "a map";
    case NodeKind::scalar:
      break;
  }
  const bool cut = node.scalar.size() > kMostShown;
  return (node.quoted ? "the text '" : "'") + node.scalar.substr(0, kMostShown) + (cut ? "...'" : "'");
}

std::string key_path(const std::string& path, std::string_view key) {
  return (path.empty() ? "" : path + ".") + std::string(key);
}

const Node& empty_map() {
  static const Node node = [] {
    Node map;
    map.kind = NodeKind::map;
    return map;
  }();
  return node;
}

}  // namespace fulcrum
