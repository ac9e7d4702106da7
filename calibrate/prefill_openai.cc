#include "calibrate/prefill_openai.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/errors.h"
#include "calibrate/prefill_sse.h"

namespace fulcrum::calibrate {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kQuoteMax = 300;
constexpr std::int64_t kTokensMax = 1'000'000'000;

Json parse(const std::string& text) {
  return Json::parse(text, nullptr, false);
}

/// Field of an object, or a null that any further look-up passes through.
const Json& at(const Json& json, const char* key) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

std::optional<Tokens> tokens(const Json& json) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > kTokensMax) return std::nullopt;
  return Tokens(json.get<std::int64_t>());
}

/// What the server said about its failure, short and on one line.
std::string complaint(const std::string& body) {
  const Json json = parse(body);
  const Json& error = at(json, "error");
  std::string text = body;
  for (const Json* message : {&at(error, "message"), &at(json, "message"), &at(json, "detail"), &error}) {
    if (!message->is_string()) continue;
    text = message->get<std::string>();
    break;
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  if (text.size() > kQuoteMax) text = text.substr(0, kQuoteMax) + "...";
  return text;
}

struct StatusRule {
  ErrorKind kind;
  const char* next_step;
};

StatusRule rule_for(int status) {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return {ErrorKind::bad_input, "ask for shorter prompts, or check the model's name"};
    case 401:
    case 403:
      return {ErrorKind::permission, "give the server's API key"};
    case 404:
      return {ErrorKind::not_found, "check the URL and the model's name; /v1/completions is needed"};
    case 408:
    case 504:
      return {ErrorKind::timed_out, "see whether the server hangs, or allow more time"};
    case 429:
    case 503:
      return {ErrorKind::busy, "try again when the server has less to do"};
    default:
      break;
  }
  if (status >= 500) return {ErrorKind::device, "look into the server's log"};
  return {ErrorKind::corrupt, "check that the URL names an OpenAI-compatible server"};
}

Error not_the_protocol(const std::string& server, const std::string& what) {
  return make_error(ErrorKind::corrupt, "read from", server, what,
                    "check that the URL names an OpenAI-compatible server");
}

/// Follows the events of one streamed completion.
class CompletionStream {
 public:
  explicit CompletionStream(const Clock& clock) : clock_(clock) {}

  void take(std::string_view bytes) {
    const Seconds now = clock_.now();
    for (const std::string& event : reader_.feed(bytes)) take_event(event, now);
    if (reader_.overflow() && problem_.empty()) problem_ = "one event of the stream is longer than 1 MiB";
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::optional<Seconds> first_token() const { return first_token_; }
  [[nodiscard]] const Json& usage() const { return usage_; }

 private:
  void take_event(const std::string& event, Seconds now) {
    if (event == "[DONE]") return;
    const Json json = parse(event);
    if (json.is_discarded()) {
      problem_ = "an event of the stream is not JSON: " + event.substr(0, 80);
      return;
    }
    if (at(json, "error").is_object()) problem_ = "the stream reports an error: " + complaint(event);
    if (at(json, "usage").is_object()) usage_ = at(json, "usage");
    const Json& choices = at(json, "choices");
    if (!choices.is_array() || choices.empty() || first_token_) return;
    const Json& text = at(choices[0], "text");
    const bool has_text = text.is_string() && !text.get_ref<const std::string&>().empty();
    if (has_text || at(choices[0], "finish_reason").is_string()) first_token_ = now;
  }

  const Clock& clock_;
  SseReader reader_;
  std::optional<Seconds> first_token_;
  Json usage_;
  std::string problem_;
};

std::string completion_body(const std::string& model, const std::string& prompt, bool stream) {
  Json body = {
      {"model", model}, {"prompt", prompt}, {"max_tokens", 1}, {"temperature", 0}, {"stream", stream}};
  if (stream) body["stream_options"] = {{"include_usage", true}};
  return body.dump();
}

}  // namespace

Result<OpenAiClient> OpenAiClient::create(std::string_view url, std::string api_key, Clock& clock,
                                          Seconds timeout, const std::atomic<bool>& stop) {
  auto parsed = HttpUrl::parse(url);
  if (parsed.has_error()) return parsed.error();
  constexpr std::string_view kVersion = "/v1";
  if (parsed->path.ends_with(kVersion)) parsed->path.resize(parsed->path.size() - kVersion.size());
  return OpenAiClient(std::move(*parsed), std::move(api_key), clock, timeout, stop);
}

Result<HttpAnswer> OpenAiClient::ask(const HttpRequest& request, const HttpClient::Sink& sink) {
  HttpRequest signed_request = request;
  signed_request.bearer = api_key_;
  auto answer = http_.exchange(signed_request, sink);
  if (answer.has_error() || answer->status == 200) return answer;
  const StatusRule rule = rule_for(answer->status);
  return make_error(rule.kind, "ask", server() + request.target,
                    "status " + std::to_string(answer->status) + ": " + complaint(answer->body),
                    rule.next_step);
}

Result<ServedModel> OpenAiClient::find_model(const std::string& wanted) {
  auto answer = ask({"/v1/models", {}, {}});
  if (answer.has_error()) return answer.error();
  const Json json = parse(answer->body);
  const Json& models = at(json, "data");
  if (!models.is_array() || models.empty()) return not_the_protocol(server(), "/v1/models names no model");
  std::string names;
  for (const Json& model : models) {
    const Json& id = at(model, "id");
    if (!id.is_string()) continue;
    const auto& name = id.get_ref<const std::string&>();
    if (wanted.empty() || wanted == name) {
      return ServedModel{name, tokens(at(model, "max_model_len")).value_or(Tokens(0))};
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  return make_error(ErrorKind::not_found, "find model", server(), "no model \"" + wanted + "\" is served",
                    names.empty() ? "check the server" : "choose one of: " + names);
}

Result<Tokens> OpenAiClient::count_tokens(const std::string& model, const std::string& prompt) {
  auto answer = ask({"/v1/completions", completion_body(model, prompt, false), {}});
  if (answer.has_error()) return answer.error();
  const Json json = parse(answer->body);
  if (json.is_discarded()) return not_the_protocol(server(), "the answer to /v1/completions is not JSON");
  const auto count = tokens(at(at(json, "usage"), "prompt_tokens"));
  if (count && count->value() > 0) return *count;
  return make_error(ErrorKind::unsupported, "count tokens", server(),
                    "its answers have no usage.prompt_tokens",
                    "time the prefill by other means and give a CSV of samples");
}

Result<FirstToken> OpenAiClient::time_first_token(const std::string& model, const std::string& prompt) {
  CompletionStream stream(clock_);
  const HttpRequest request = {"/v1/completions", completion_body(model, prompt, true), {}};
  auto answer = ask(request, [&](std::string_view bytes) { stream.take(bytes); });
  if (answer.has_error()) return answer.error();
  if (!stream.problem().empty()) return not_the_protocol(server(), stream.problem());
  if (!stream.first_token()) return not_the_protocol(server(), "the stream ended without a token");
  FirstToken result;
  result.time = *stream.first_token() - answer->sent;
  result.prompt = tokens(at(stream.usage(), "prompt_tokens"));
  result.cached = tokens(at(at(stream.usage(), "prompt_tokens_details"), "cached_tokens"));
  return result;
}

}  // namespace fulcrum::calibrate
