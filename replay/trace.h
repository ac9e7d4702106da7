// Trace: recorded requests with the block keys of their prompts, ready to replay.
//
// Readers turn each published format into this one form. Only prompts carry keys; generated tokens do not.
//
//   mooncake     JSON lines {timestamp ms, input_length, output_length, hash_ids}: ids name whole prefixes of
//                512-token blocks, the last of them partial; a coarser block takes the id that ends it.
//   claude_code  one session a line, ids of whole 64-token blocks coded as runs [first, count] and local to
//                the session; sub-agents nest and share their parent's ids. Tokens past the last whole block
//                (coarse where asked for) have no key.
//   csv          arrival_s,prompt_tokens,output_tokens[,session], or Azure's TIMESTAMP,ContextTokens,
//                GeneratedTokens. No ids, hence no reuse: every block has a key of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fulcrum/key.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum::replay {

struct TraceRequest {
  Seconds arrival{};  ///< since the first request of the trace
  Tokens prompt{};
  Tokens output{};
  std::uint32_t session = 0;    ///< 0: the trace does not say
  Seconds think{};              ///< client-side gap since the session's answer before; 0: not recorded
  Seconds served{};             ///< how long the recorded service took; 0: not recorded
  std::uint64_t first_key = 0;  ///< into Trace::keys; a chain may share the keys of the one before it
  std::uint32_t key_count = 0;  ///< whole and last partial block, as the trace counts them
};

struct Trace {
  std::string name;
  Tokens block_tokens{};
  std::vector<TraceRequest> requests;  ///< by arrival
  std::vector<BlockKey> keys;
  std::size_t skipped_lines = 0;

  [[nodiscard]] std::span<const BlockKey> blocks(const TraceRequest& request) const {
    return std::span(keys).subspan(request.first_key, request.key_count);
  }
};

enum class TraceFormat { automatic, mooncake, claude_code, csv };

struct TraceOptions {
  TraceFormat format = TraceFormat::automatic;
  bool skip_bad = false;          ///< count broken lines instead of refusing the file
  Tokens block_tokens{0};         ///< coarser blocks than the trace's own; 0: the trace's own
  std::size_t requests_max = 0;   ///< only the first so many; 0: all
  bool spread_ticks = true;       ///< spread requests that share one timestamp evenly until the next one
  double session_start_rate = 0;  ///< claude_code: sessions started per second; 0: all at once
  std::uint64_t seed = 1;
  std::size_t keys_max = std::size_t{1} << 26;  ///< keys kept in memory, 16 bytes each; more is refused
};

/// Reads a trace file, packed with zstd or plain. Kinds: not_found, permission, corrupt (damaged or cut-off
/// packing), no_memory (keys_max), bad_input (file:line: what; or a format that was not recognised, with the
/// formats that are).
Result<Trace> read_trace(const std::string& path, const TraceOptions& options);

}  // namespace fulcrum::replay
