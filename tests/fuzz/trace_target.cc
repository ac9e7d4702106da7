// Laws of traces: a line that is refused adds nothing; keys stay near their limit however much a line claims;
// what was read is in order, begins at zero, and its keys are within the trace.
//
// Input: format and block size, then lines.
#include <array>

#include "tests/fuzz/laws.h"
#include "tests/fuzz/targets.h"

namespace fulcrum::fuzz {
namespace {

using replay::Trace;
using replay::TraceBuilder;
using replay::TraceOptions;

constexpr std::size_t kKeysMax = std::size_t{1} << 14;

}  // namespace

bool run_trace(std::span<const std::byte> input) {
  Input in(input);
  const std::uint8_t how = in.byte();
  TraceOptions options;
  options.keys_max = kKeysMax;
  options.block_tokens = Tokens(std::array{0, 512, 1024, 64}[(how >> 2) % 4]);
  options.spread_ticks = (how & 16) == 0;
  options.session_start_rate = (how & 32) == 0 ? 0 : 2;
  using Make = std::unique_ptr<replay::TraceParser> (*)(const TraceOptions&);
  const Make make = std::array<Make, 3>{replay::make_mooncake_parser, replay::make_claude_code_parser,
                                        replay::make_csv_parser}[(how & 3U) % 3];
  const auto parser = make(options);
  TraceBuilder builder(options);
  const std::string_view text = in.text();
  for (std::size_t at = 0; at < text.size() && !builder.full();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    static_cast<void>(parser->recognises(line));
    check_line(*parser, builder, line);
  }
  const bool full = builder.full();
  const bool any = builder.requests() > 0;
  const Trace trace = std::move(builder).finish("fuzz", parser->block_tokens());
  if (!full) check_trace(trace);
  return any;
}

}  // namespace fulcrum::fuzz
