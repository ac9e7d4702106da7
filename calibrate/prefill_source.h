// Prefill times from outside: a CSV of samples, a running OpenAI-compatible server, or a data sheet.
//
// The server probe asks for one token of prompts that nobody has seen before (cold) and of prompts whose
// head it sent before (warm), and takes the time until the first token arrives. Prompts are random words,
// so no tokeniser is needed: the server's own usage figures say how many tokens they were. Everything it
// notices on the way (an answer from a cache, a refused length, a busy server) is a finding.
//
// Threads: a call blocks; `stop` may be raised from anywhere, also from a signal handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "fulcrum/cost.h"
#include "fulcrum/measured.h"
#include "fulcrum/model_shape.h"
#include "fulcrum/profile.h"
#include "fulcrum/result.h"

namespace fulcrum::calibrate {

/// Reads samples: header `new_tokens,cached_tokens,seconds` (any order), '#' comments, blank lines.
/// Kinds: not_found, permission, bad_input (every bad line as file:line: what; no samples).
Result<std::vector<PrefillSample>> read_prefill_csv(const std::string& path);

/// A prompt of `fresh` new tokens behind `cached` ones that the server has seen.
struct PrefillShape {
  Tokens fresh{};
  Tokens cached{};
  bool operator==(const PrefillShape&) const = default;
};

struct ServerProbeOptions {
  std::string url;      ///< http://host:port, with or without a path such as /v1
  std::string model;    ///< empty: the first that the server names
  std::string api_key;  ///< sent as a bearer token; empty: none
  /// Wanted shapes. Those beyond the server's longest prompt are left out, with a finding.
  std::vector<PrefillShape> shapes = {{Tokens(256), Tokens(0)},     {Tokens(1024), Tokens(0)},
                                      {Tokens(4096), Tokens(0)},    {Tokens(16384), Tokens(0)},
                                      {Tokens(1024), Tokens(4096)}, {Tokens(4096), Tokens(16384)},
                                      {Tokens(1024), Tokens(49152)}};
  int repeats = 5;      ///< timings of each shape
  Seconds timeout{60};  ///< for one request, until its first token
  std::uint64_t seed = 1;
};

/// All timings of one shape, as the server counted its tokens.
struct PrefillPoint {
  Tokens fresh{};  ///< median over the repeats
  Tokens cached{};
  Seconds minimum{};  ///< the prefill alone, as near as a client sees it
  Seconds median{};   ///< what a request meets: queue and network included
  int samples = 0;
};

struct PrefillServerReport {
  std::string server;  ///< host:port
  std::string model;
  Tokens context_max{};                ///< longest prompt that the server names; 0: it does not say
  std::vector<PrefillSample> samples;  ///< timings to fit: those near their shape's minimum
  std::vector<PrefillPoint> points;    ///< by cached, then fresh
  std::vector<std::string> findings;   ///< one sentence each
  Verdict verdict = Verdict::invalid;  ///< good, noisy (busy server) or cached (cold prompts came too fast)
  int requests = 0;
  Tokens tokens_sent{};
};

/// Told after every request: how many are done of how many, and what is going on.
using ProbeProgress = std::function<void(int done, int all, std::string_view what)>;

/// Probes the server. Kinds: bad_input (URL, https, shapes), unreachable, timed_out, permission (401, 403),
/// not_found (404, unknown model), busy (429, 503), device (other 5xx), corrupt (an answer that is not what
/// the protocol says), unsupported (no token counts), interrupted.
Result<PrefillServerReport> probe_prefill_server(const ServerProbeOptions& options, Clock& clock,
                                                 const ProbeProgress& progress,
                                                 const std::atomic<bool>& stop);

/// Fits samples of one GPU and model. Kinds: bad_input (too few shapes; a bad sample, by its number).
Result<PrefillProfile> prefill_profile_from_samples(std::span<const PrefillSample> samples,
                                                    const ModelShape& model, std::string gpu,
                                                    const PrefillFitOptions& fit = {},
                                                    PrefillSource source = PrefillSource::csv);
/// Fits what a probe found; keeps the worse of the probe's verdict and the fit's.
Result<PrefillProfile> prefill_profile_from_server(const PrefillServerReport& report, const ModelShape& model,
                                                   const PrefillFitOptions& fit = {});
/// Estimate from a GPU's data sheet, marked `estimated`. Kinds: bad_input (unknown GPU, with the nearest).
Result<PrefillProfile> prefill_profile_from_datasheet(std::string_view gpu, const ModelShape& model);

}  // namespace fulcrum::calibrate
