#include "replay/trace.h"

#include <array>
#include <filesystem>
#include <utility>

#include "base/errors.h"
#include "replay/trace_builder.h"
#include "replay/zstd_file.h"

namespace fulcrum::replay {

namespace {

constexpr const char* kFormats =
    "Formats: Mooncake JSON lines (timestamp, input_length, output_length, hash_ids), Claude Code sessions "
    "(one a line, hash_runs), CSV with the header arrival_s,prompt_tokens,output_tokens[,session] or "
    "TIMESTAMP,ContextTokens,GeneratedTokens.";

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

std::unique_ptr<TraceParser> make_parser(TraceFormat format, std::string_view line,
                                         const TraceOptions& options) {
  switch (format) {
    case TraceFormat::mooncake:
      return make_mooncake_parser(options);
    case TraceFormat::claude_code:
      return make_claude_code_parser(options);
    case TraceFormat::csv:
      return make_csv_parser(options);
    case TraceFormat::automatic:
      break;
  }
  for (auto* make : {make_mooncake_parser, make_claude_code_parser, make_csv_parser}) {
    auto parser = make(options);
    if (parser->recognises(line)) return parser;
  }
  return nullptr;
}

/// "conversation_trace" of ".../conversation_trace.jsonl.zst".
std::string stem(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  return file.substr(0, file.find('.', 1));
}

std::string place(const std::string& path, std::size_t line) {
  return path + ":" + std::to_string(line);
}

Error too_many_keys(const std::string& path, std::size_t line, std::size_t keys_max) {
  return make_error(ErrorKind::no_memory, "read trace", place(path, line),
                    "the trace has more than " + std::to_string(keys_max) + " block keys",
                    "Ask for coarser blocks or fewer requests.");
}

/// The parser, the builder and what went wrong so far, while a file is read.
class Reading {
 public:
  Reading(const std::string& path, const TraceOptions& options)
      : path_(path), options_(options), builder_(options) {}

  Result<void> take(std::string_view line, std::size_t number) {
    if (!parser_) {
      if (options_.format == TraceFormat::automatic && line.front() == '#') return {};
      parser_ = make_parser(options_.format, line, options_);
      if (!parser_) return bad_input(place(path_, number), "the format was not recognised", kFormats);
    }
    const std::string problem = parser_->read(line, builder_);
    if (builder_.full()) return too_many_keys(path_, number, options_.keys_max);
    if (problem.empty()) return {};
    if (skipped_++ == 0) first_problem_ = place(path_, number) + ": " + problem;
    if (options_.skip_bad) return {};
    return bad_input(place(path_, number), problem, "mend the line, or skip bad lines with --skip-bad");
  }

  Result<Trace> finish() && {
    if (builder_.requests() == 0) {
      return bad_input(path_, first_problem_.empty() ? "the file holds no requests" : first_problem_,
                       kFormats);
    }
    Trace trace = std::move(builder_).finish(stem(path_), parser_->block_tokens());
    trace.skipped_lines = skipped_;
    return trace;
  }

 private:
  const std::string& path_;
  const TraceOptions& options_;
  TraceBuilder builder_;
  std::unique_ptr<TraceParser> parser_;
  std::size_t skipped_ = 0;
  std::string first_problem_;
};

}  // namespace

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  if (options.block_tokens.value() < 0) return bad_input(path, "block_tokens must not be negative");
  auto reader = LineReader::open(path);
  if (reader.has_error()) return reader.error();
  Reading reading(path, options);
  for (;;) {
    std::string_view line;
    auto more = reader->next(line);
    if (more.has_error()) return more.error();
    if (!*more) return std::move(reading).finish();
    if (is_blank(line)) continue;
    auto taken = reading.take(line, reader->number());
    if (taken.has_error()) return taken.error();
  }
}

}  // namespace fulcrum::replay
