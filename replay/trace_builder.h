// TraceBuilder: collects requests into a Trace. Used by the parsers of the formats.
//
// A chain that continues (or repeats the head of) the chain before it shares that chain's keys: a session of
// many turns costs as much memory as its longest prompt, not as the sum of its prompts.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "replay/trace.h"

namespace fulcrum::replay {

class TraceBuilder {
 public:
  explicit TraceBuilder(const TraceOptions& options) : options_(options) {}

  /// Adds a request whose prompt has these keys; sets its first_key and key_count.
  void add(TraceRequest request, std::span<const BlockKey> keys);
  [[nodiscard]] std::size_t requests() const { return trace_.requests.size(); }
  [[nodiscard]] bool full() const { return trace_.keys.size() > options_.keys_max; }

  /// Where the trace stands; rollback() forgets what was added since.
  struct Mark {
    std::size_t requests = 0;
    std::size_t keys = 0;
  };
  [[nodiscard]] Mark mark() const { return {trace_.requests.size(), trace_.keys.size()}; }
  void rollback(Mark mark);

  /// Sorts by arrival, starts at zero, spreads ticks and cuts to requests_max.
  [[nodiscard]] Trace finish(std::string name, Tokens block_tokens) &&;

 private:
  [[nodiscard]] bool continues_last(std::span<const BlockKey> keys) const;

  TraceOptions options_;
  Trace trace_;
};

/// One format: reads line after line into a builder.
class TraceParser {
 public:
  virtual ~TraceParser() = default;
  TraceParser(const TraceParser&) = delete;
  TraceParser& operator=(const TraceParser&) = delete;

  /// True if a file may begin with this line. `line` is not blank.
  [[nodiscard]] virtual bool recognises(std::string_view line) const = 0;
  /// Reads one line, not blank. Returns what is wrong with it, or an empty text; a bad line adds nothing.
  virtual std::string read(std::string_view line, TraceBuilder& out) = 0;
  /// Tokens of one key, known once a line has been read.
  [[nodiscard]] virtual Tokens block_tokens() const = 0;

 protected:
  TraceParser() = default;
};

std::unique_ptr<TraceParser> make_mooncake_parser(const TraceOptions& options);
std::unique_ptr<TraceParser> make_claude_code_parser(const TraceOptions& options);
std::unique_ptr<TraceParser> make_csv_parser(const TraceOptions& options);

}  // namespace fulcrum::replay
