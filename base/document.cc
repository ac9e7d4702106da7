#include "base/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "base/errors.h"
#include "base/json_text.h"

namespace fulcrum {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxDepth = 64;

/// What the document does not allow; caught in parse().
struct Refused {
  Mark mark;
  std::string what;
};

Mark to_mark(const YAML::Mark& mark) {
  return mark.is_null() ? Mark{1, 1} : Mark{mark.line + 1, mark.column + 1};
}

/// Builds the tree from parser events. Keys and values alternate inside a map.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(bool drop_null_fields) : drop_null_fields_(drop_null_fields) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_extras(mark, "", anchor);
    place(make(NodeKind::null, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Refused{to_mark(mark), "aliases ('*name') are not allowed; write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_extras(mark, tag, anchor);
    Node node = make(NodeKind::scalar, mark);
    node.quoted = tag == "!";
    node.scalar = value;
    place(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    refuse_extras(mark, tag, anchor);
    open(make(NodeKind::list, mark));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    refuse_extras(mark, tag, anchor);
    open(make(NodeKind::map, mark));
  }
  void OnMapEnd() override { close(); }

  Node take_root() { return std::move(root_); }

 private:
  struct Level {
    Node node;
    bool has_key = false;
    std::string key;
    Mark key_mark;
  };

  static Node make(NodeKind kind, const YAML::Mark& mark) {
    Node node;
    node.kind = kind;
    node.mark = to_mark(mark);
    return node;
  }

  /// "!" marks a quoted scalar and "?" a plain one; any other tag was written by the author.
  static void refuse_extras(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      throw Refused{to_mark(mark), "anchors ('&name') are not allowed; write the value out"};
    }
    if (!tag.empty() && tag != "!" && tag != "?") {
      throw Refused{to_mark(mark), "tags ('" + tag + "') are not allowed"};
    }
  }

  void open(Node node) {
    if (awaiting_key()) throw Refused{node.mark, "a list or a map cannot be a key; is a bracket left open?"};
    if (levels_.size() >= kMaxDepth) {
      throw Refused{node.mark, "nested deeper than " + std::to_string(kMaxDepth) + " levels"};
    }
    levels_.push_back({.node = std::move(node), .has_key = false, .key = {}, .key_mark = {}});
  }

  void close() {
    Node done = std::move(levels_.back().node);
    levels_.pop_back();
    place(std::move(done));
  }

  [[nodiscard]] bool awaiting_key() const {
    return !levels_.empty() && levels_.back().node.kind == NodeKind::map && !levels_.back().has_key;
  }

  void place(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
    } else if (levels_.back().node.kind == NodeKind::list) {
      levels_.back().node.items.push_back(std::move(node));
    } else if (awaiting_key()) {
      take_key(node);
    } else {
      take_value(std::move(node));
    }
  }

  void take_key(const Node& node) {
    if (node.kind != NodeKind::scalar) throw Refused{node.mark, "a key must be a word"};
    if (node.scalar == "<<" && !node.quoted) throw Refused{node.mark, "merge keys ('<<') are not allowed"};
    Level& map = levels_.back();
    map.has_key = true;
    map.key = node.scalar;
    map.key_mark = node.mark;
  }

  void take_value(Node node) {
    Level& map = levels_.back();
    map.has_key = false;
    if (drop_null_fields_ && node.kind == NodeKind::null) return;
    if (node.kind == NodeKind::null) node.mark = map.key_mark;  // the parser places what is not there at 1:1
    node.key_mark = map.key_mark;
    map.node.fields.push_back({std::move(map.key), std::move(node)});
  }

  bool drop_null_fields_;
  Node root_ = make(NodeKind::null, YAML::Mark::null_mark());
  std::vector<Level> levels_;
};

Mark mark_at(const std::string& text, std::size_t offset) {
  Mark mark{1, 1};
  for (std::size_t i = 0; i < offset; ++i) {
    const bool line_end = text[i] == '\n';
    mark.line += line_end ? 1 : 0;
    mark.column = line_end ? 1 : mark.column + 1;
  }
  return mark;
}

/// The parser takes some control characters for the end of the text: a file could end early unseen.
void refuse_control_characters(const std::string& text) {
  const auto bad = std::ranges::find_if(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
  });
  if (bad == text.end()) return;
  throw Refused{mark_at(text, static_cast<std::size_t>(bad - text.begin())),
                "control character " + std::to_string(static_cast<int>(*bad)) + ": this is not a text file"};
}

Node read_tree(const std::string& text, bool json) {
  refuse_control_characters(text);
  // The parser forgives a quote that is still open at a line's end at the end of the text. A comment there
  // makes it notice.
  std::string input = json ? join_surrogates(text) : text;
  input += input.ends_with('\n') ? "#" : "\n#";
  std::istringstream stream(input);
  YAML::Parser parser(stream);
  TreeBuilder builder(json);
  parser.HandleNextDocument(builder);
  Node root = builder.take_root();
  TreeBuilder second(json);
  if (parser.HandleNextDocument(second)) {
    throw Refused{second.take_root().mark, "a second document starts here; one file holds one document"};
  }
  return root;
}

Error refused_error(const std::string& where, Mark mark, const std::string& what) {
  Problems problems(where);
  problems.add(mark, what);
  return problems.error("read");
}

Result<Node> parse(const std::string& text, const std::string& where, bool json) {
  if (text.size() > kMaxBytes) {
    return bad_input(where, "is larger than " + format(Bytes(static_cast<std::int64_t>(kMaxBytes))),
                     "name the right file");
  }
  try {
    return read_tree(text, json);
  } catch (const Refused& refused) {
    return refused_error(where, refused.mark, refused.what);
  } catch (const YAML::Exception& error) {
    const bool open_quote = error.msg == YAML::ErrorMsg::EOF_IN_SCALAR;
    return refused_error(where, to_mark(error.mark),
                         open_quote ? "a quote is still open here, at the end" : error.msg);
  }
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, value] : fields) {
    if (name == key) return &value;
  }
  return nullptr;
}

Result<Document> Document::parse_yaml(const std::string& text, const std::string& where) {
  auto root = parse(text, where, false);
  if (!root) return root.error();
  Document document;
  document.root_ = std::make_shared<const Node>(std::move(*root));
  document.where_ = where;
  return document;
}

Result<Document> Document::parse_json(const std::string& text, const std::string& where) {
  auto root = parse(text, where, true);
  if (!root) return root.error();
  Document document;
  document.root_ = std::make_shared<const Node>(std::move(*root));
  document.where_ = where;
  return document;
}

}  // namespace fulcrum
