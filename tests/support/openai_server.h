// OpenAiServer: a real HTTP server on 127.0.0.1 that behaves like an OpenAI-compatible one, or badly.
//
// Its prefill follows a known law, with a real prefix cache over whole blocks of words, and takes its time
// on a Clock of the test's: a SteadyClock makes it really wait, a SharedClock makes the wait exact and free.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "fulcrum/cost.h"

namespace fulcrum::testing_support {

/// A manual clock that two threads share.
class SharedClock final : public Clock {
 public:
  [[nodiscard]] Seconds now() const override { return Seconds(now_.load()); }
  void sleep(Seconds duration) override {
    double before = now_.load();
    while (!now_.compare_exchange_weak(before, before + duration.value())) {
    }
  }

 private:
  std::atomic<double> now_{1};
};

/// How the body of a stream is framed.
enum class Framing { chunked, content_length, until_close };

/// What goes wrong with completions.
enum class Fault {
  none,
  hang,        ///< reads the request and never answers
  status,      ///< answers fault_status
  garbage,     ///< events that are not JSON
  not_http,    ///< an answer that is not HTTP
  hang_up,     ///< closes in the middle of the stream
  no_token,    ///< an empty stream that ends well
  silent_eos,  ///< the first token is the end: no text, only finish_reason
  damaged,     ///< a good stream with a few bytes changed, lost or doubled, by seed
};

struct ServerBehaviour {
  PrefillLaw law;
  double noise = 0;  ///< relative, of the prefill time
  std::uint64_t seed = 1;
  double tokens_per_word = 2.5;
  bool prefix_cache = true;
  bool report_cached = true;
  bool report_usage = true;         ///< in whole answers
  bool report_stream_usage = true;  ///< in streams
  bool constant_time = false;       ///< answers everything as if it were the shortest prompt
  bool claims_all_cached = false;   ///< says that every prompt was cached
  int slow_every = 0;               ///< every n-th completion takes three times as long
  Tokens context_max{0};            ///< longer prompts are refused; 0: any length
  bool names_context = true;        ///< says so in /v1/models
  std::string api_key;
  Framing framing = Framing::chunked;
  bool byte_by_byte = false;
  Fault fault = Fault::none;
  int fault_status = 500;
  int fault_from = 0;         ///< the first completion that goes wrong
  int fault_count = 1 << 30;  ///< how many do
};

class OpenAiServer {
 public:
  OpenAiServer(ServerBehaviour behaviour, Clock& clock);
  ~OpenAiServer();
  OpenAiServer(const OpenAiServer&) = delete;
  OpenAiServer& operator=(const OpenAiServer&) = delete;

  /// "http://127.0.0.1:PORT"
  [[nodiscard]] std::string url() const;
  [[nodiscard]] int completions() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fulcrum::testing_support
