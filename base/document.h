// Documents: a YAML or JSON text as a tree with positions, and a strict reader over it.
//
// The reader collects every problem before it gives up: unknown or duplicate key (with the nearest valid
// one), missing key, wrong type, wrong unit, out of range, contradiction; each as file:line:column.
//
//   auto document = Document::parse_yaml(text, "policy.yaml");
//   Problems problems;
//   MapReader root(document->root(), problems);
//   auto capacity = root.bytes("capacity", {.low = 1 << 20});
//   root.finish();                      // whatever was not asked for is an unknown key
//   if (!problems.empty()) return problems.error("parse policy");
//
// Files: document.cc is the only user of yaml-cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum {

struct Mark {
  int line = 0;    ///< from 1
  int column = 0;  ///< from 1
};

enum class NodeKind { null, scalar, list, map };

struct Field;

/// One node of a document. Plain tree; valid as long as its Document.
struct Node {
  NodeKind kind = NodeKind::null;
  Mark mark;
  Mark key_mark;        ///< of its key, where it is the value of a field
  bool quoted = false;  ///< a quoted scalar is always text
  std::string scalar;
  std::vector<Node> items;    ///< of a list
  std::vector<Field> fields;  ///< of a map, in order; duplicates kept

  /// First field of that name, or null pointer.
  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Field {
  std::string key;
  Node value;
};

class Document {
 public:
  /// Kinds: bad_input with line and column. Limits: 16 MiB, depth 64, no anchors, one document.
  static Result<Document> parse_yaml(const std::string& text, const std::string& where);
  /// JSON is read by the same parser; YAML-only syntax is not refused. A field whose value is null counts
  /// as missing, as JSON writers use it.
  static Result<Document> parse_json(const std::string& text, const std::string& where);

  [[nodiscard]] const Node& root() const { return *root_; }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  std::shared_ptr<const Node> root_;
  std::string where_;
};

/// Problems found so far, in the order of their place in the file.
class Problems {
 public:
  explicit Problems(std::string where) : where_(std::move(where)) {}
  void add(Mark mark, std::string what);
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  /// All problems as one Error of kind bad_input, one line each: "file:line:column: what".
  [[nodiscard]] Error error(std::string operation) const;
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] std::size_t size() const { return problems_.size(); }

 private:
  struct Problem {
    Mark mark;
    std::string what;
  };
  std::string where_;
  std::vector<Problem> problems_;
};

/// A legal range, ends included.
template <class T>
struct Range {
  T low = std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::max();
};

/// Reads the fields of one map. Every getter remembers its key; finish() reports the rest as unknown.
/// A getter that finds a problem records it and returns the default (or a zero value).
class MapReader {
 public:
  MapReader(const Node& node, Problems& problems, std::string path = {});

  [[nodiscard]] bool has(std::string_view key) const;
  /// Place of a key (or of the map where it is missing), for contradictions found by the caller.
  [[nodiscard]] Mark mark(std::string_view key) const;
  void problem(std::string_view key, std::string what);

  // Required: a missing key is a problem.
  double number(std::string_view key, Range<double> range = {});
  std::int64_t integer(std::string_view key, Range<std::int64_t> range = {});
  bool boolean(std::string_view key);
  std::string text(std::string_view key);
  /// One of `names`; returns its index.
  std::size_t choice(std::string_view key, std::span<const std::string_view> names);
  /// "64 GiB", "1.5 TB", "4096 B"; a bare number is a problem that names the unit to add.
  Bytes bytes(std::string_view key, Range<std::int64_t> range = {0});
  /// "20 ms", "2 s", "90 us", "5 min", "1 h", "1 d".
  Seconds seconds(std::string_view key, Range<double> range = {0});
  /// "2.5 GB/s", "800 MB/s", "1 GiB/s".
  BytesPerSecond rate(std::string_view key, Range<double> range = {0});
  std::vector<double> numbers(std::string_view key);
  std::vector<std::vector<double>> number_rows(std::string_view key);  ///< a list of lists of numbers
  std::vector<std::string> texts(std::string_view key);
  MapReader map(std::string_view key);
  /// A section that may be left out: reads like an empty map where it is missing.
  MapReader map_or_empty(std::string_view key);
  std::vector<MapReader> maps(std::string_view key);  ///< a list of maps

  // Optional: `fallback` where the key is missing.
  double number_or(std::string_view key, double fallback, Range<double> range = {});
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, Range<std::int64_t> range = {});
  bool boolean_or(std::string_view key, bool fallback);
  std::string text_or(std::string_view key, std::string fallback);
  std::size_t choice_or(std::string_view key, std::size_t fallback, std::span<const std::string_view> names);
  Bytes bytes_or(std::string_view key, Bytes fallback, Range<std::int64_t> range = {0});
  Seconds seconds_or(std::string_view key, Seconds fallback, Range<double> range = {0});
  BytesPerSecond rate_or(std::string_view key, BytesPerSecond fallback, Range<double> range = {0});
  /// Names a key that exists for others to read, so that finish() does not call it unknown.
  void ignore(std::string_view key);

  /// Reports unknown and duplicate keys. Call once, last.
  void finish();
  [[nodiscard]] const Node& node() const { return *node_; }

 private:
  const Node* get(std::string_view key, bool required);
  std::span<const Node> items(std::string_view key);
  std::vector<double> numbers_of(std::string_view key, std::span<const Node> nodes);
  template <class T, class Raw, class Parse>
  T read(std::string_view key, bool required, T fallback, Range<Raw> range, Parse parse,
         std::string_view wanted);
  double read_number(std::string_view key, bool required, double fallback, Range<double> range);
  std::int64_t read_integer(std::string_view key, bool required, std::int64_t fallback,
                            Range<std::int64_t> range);
  Bytes read_bytes(std::string_view key, bool required, Bytes fallback, Range<std::int64_t> range);
  Seconds read_seconds(std::string_view key, bool required, Seconds fallback, Range<double> range);
  BytesPerSecond read_rate(std::string_view key, bool required, BytesPerSecond fallback, Range<double> range);
  bool read_boolean(std::string_view key, bool required, bool fallback);
  std::string read_text(std::string_view key, bool required, std::string fallback);
  std::size_t read_choice(std::string_view key, bool required, std::size_t fallback,
                          std::span<const std::string_view> names);

  const Node* node_;
  Problems* problems_;
  std::string path_;
  Mark mark_;
  bool not_a_map_ = false;  ///< a problem is on record already; no missing keys on top of it
  std::vector<std::string> asked_;
};

/// "4 GiB", "1.23 GB/s", "45 ms": short and readable, parsed back by the readers above.
[[nodiscard]] std::string format(Bytes bytes);
[[nodiscard]] std::string format(BytesPerSecond rate);
[[nodiscard]] std::string format(Seconds time);
[[nodiscard]] std::string format(Tokens tokens);  ///< "6,203"
/// Shortest text that reads back to the same double; "nan" and "inf" never come out of a good profile.
[[nodiscard]] std::string format_exact(double number);
/// A YAML scalar, quoted where it must be.
[[nodiscard]] std::string yaml_quote(std::string_view text);

/// The entry of `names` nearest to `word` (edit distance), or empty if none is near.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

}  // namespace fulcrum
