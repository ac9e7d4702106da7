// OpenAiClient: the three questions that the prefill probe asks an OpenAI-compatible server.
//
// GET /v1/models, POST /v1/completions without a stream (to count tokens) and with one (to time the first
// token). Errors carry what the server itself said. Threads: one at a time.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/clock.h"
#include "calibrate/prefill_http.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum::calibrate {

struct ServedModel {
  std::string name;
  Tokens context_max{};  ///< 0: the server does not say
};

/// One timed answer.
struct FirstToken {
  Seconds time{};                ///< request written to first token read
  std::optional<Tokens> prompt;  ///< as the server counted them; nothing where its stream has no usage
  std::optional<Tokens> cached;  ///< of these, found in the server's prefix cache; nothing if it does not say
};

class OpenAiClient {
 public:
  /// Kinds: those of HttpUrl::parse.
  static Result<OpenAiClient> create(std::string_view url, std::string api_key, Clock& clock, Seconds timeout,
                                     const std::atomic<bool>& stop);

  /// The model of that name, or the first one. Kinds: not_found (names the models there are), and those of
  /// ask.
  Result<ServedModel> find_model(const std::string& wanted);
  /// How many tokens the prompt has. Kinds: unsupported (no usage in the answer), and those of ask.
  Result<Tokens> count_tokens(const std::string& model, const std::string& prompt);
  /// Time to the first token. An end without text counts as a token: the prefill is done by then.
  /// Kinds: corrupt (no event that is a token), and those of ask.
  Result<FirstToken> time_first_token(const std::string& model, const std::string& prompt);

  [[nodiscard]] std::string server() const { return http_.server().authority(); }

 private:
  OpenAiClient(HttpUrl url, std::string api_key, Clock& clock, Seconds timeout, const std::atomic<bool>& stop)
      : http_(std::move(url), clock, timeout, stop), api_key_(std::move(api_key)), clock_(clock) {}

  /// Kinds: those of HttpClient, bad_input (400, 413, 422), permission (401, 403), not_found (404),
  /// busy (429, 503), timed_out (408, 504), device (other 5xx), corrupt (anything else).
  Result<HttpAnswer> ask(const HttpRequest& request, const HttpClient::Sink& sink = {});

  HttpClient http_;
  std::string api_key_;
  Clock& clock_;
};

}  // namespace fulcrum::calibrate
