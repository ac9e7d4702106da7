#include "tests/support/openai_server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"

namespace fulcrum::testing_support {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Json = nlohmann::json;
using Message = http::request<http::string_body>;
using asio::ip::tcp;
using boost::system::error_code;

constexpr const char* kModel = "test-model";
constexpr std::int64_t kCacheBlock = 16;

std::vector<std::string> words_of(const std::string& prompt) {
  std::vector<std::string> words(1);
  for (const char c : prompt) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string plain(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Answer\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

std::string refusal(int status, const std::string& message) {
  return plain(status, Json{{"error", {{"message", message}}}}.dump());
}

std::string chunk(const std::string& data) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx", data.size());
  return std::string(size) + "\r\n" + data + "\r\n";
}

std::string framed(Framing framing, const std::vector<std::string>& events) {
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n";
  std::string body;
  for (const std::string& event : events) {
    const std::string data = "data: " + event + "\n\n";
    body += framing == Framing::chunked ? chunk(data) : data;
  }
  if (framing == Framing::chunked) return head + "Transfer-Encoding: chunked\r\n\r\n" + body + "0\r\n\r\n";
  if (framing == Framing::content_length) head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return head + "\r\n" + body;
}

}  // namespace

class OpenAiServer::Impl {
 public:
  Impl(ServerBehaviour behaviour, Clock& clock)
      : behaviour_(std::move(behaviour)),
        clock_(clock),
        noise_(behaviour_.seed),
        acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        port_(acceptor_.local_endpoint().port()) {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }

  ~Impl() {
    context_.stop();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] unsigned port() const { return port_; }
  [[nodiscard]] int completions() const { return completions_.load(); }

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& failure, tcp::socket socket) {
      if (failure) return;
      serve(std::move(socket));
      accept();
    });
  }

  void serve(tcp::socket socket) {
    error_code failure;
    boost::beast::flat_buffer buffer;
    http::request_parser<http::string_body> parser;
    parser.body_limit(std::size_t{32} << 20);
    http::read(socket, buffer, parser, failure);
    if (failure) return;
    const Message request = parser.release();
    const bool completion = request.target() == "/v1/completions" && request.method() == http::verb::post;
    if (completion && faulty() && behaviour_.fault == Fault::hang) {
      ++completions_;
      hanging_.push_back(std::move(socket));
      return;
    }
    const std::string answer = answer_to(request, completion);
    const std::size_t piece = behaviour_.byte_by_byte ? 1 : answer.size();
    socket.set_option(tcp::no_delay(true), failure);
    for (std::size_t at = 0; at < answer.size() && !failure; at += piece) {
      asio::write(socket, asio::buffer(answer.data() + at, std::min(piece, answer.size() - at)), failure);
    }
    socket.shutdown(tcp::socket::shutdown_both, failure);
  }

  std::string answer_to(const Message& request, bool completion) {
    const std::string wanted = "Bearer " + behaviour_.api_key;
    if (!behaviour_.api_key.empty() && request[http::field::authorization] != wanted) {
      return refusal(401, "wrong API key");
    }
    if (request.target() == "/v1/models") return models();
    if (!completion) return refusal(404, "no such page");
    const bool fails = faulty();
    ++completions_;
    if (fails && behaviour_.fault == Fault::status) return refusal(behaviour_.fault_status, "made to fail");
    if (fails && behaviour_.fault == Fault::not_http) return "SSH-2.0-server\r\n";
    return complete(Json::parse(request.body()), fails ? behaviour_.fault : Fault::none);
  }

  [[nodiscard]] bool faulty() const {
    const int number = completions_.load();
    return number >= behaviour_.fault_from && number - behaviour_.fault_from < behaviour_.fault_count;
  }

  [[nodiscard]] std::string models() const {
    Json model = {{"id", kModel}};
    if (behaviour_.names_context && behaviour_.context_max > Tokens(0)) {
      model["max_model_len"] = behaviour_.context_max.value();
    }
    return plain(200, Json{{"data", {model}}}.dump());
  }

  std::string complete(const Json& body, Fault fault) {
    const auto words = words_of(body.at("prompt").get<std::string>());
    const Tokens prompt = tokens_of(words.size());
    if (behaviour_.context_max > Tokens(0) && prompt >= behaviour_.context_max) {
      return refusal(400, "the prompt is longer than the model's context");
    }
    const Tokens cached = look_up(words, prompt);
    clock_.sleep(prefill_time(prompt, cached));
    Json usage = {{"prompt_tokens", prompt.value()}, {"completion_tokens", 1}};
    if (behaviour_.report_cached) {
      usage["prompt_tokens_details"] = {
          {"cached_tokens", behaviour_.claims_all_cached ? prompt.value() - 1 : cached.value()}};
    }
    if (body.at("stream").get<bool>()) return stream(usage, fault);
    Json answer = {{"choices", {{{"text", "x"}, {"finish_reason", "length"}}}}};
    if (behaviour_.report_usage) answer["usage"] = usage;
    return plain(200, answer.dump());
  }

  [[nodiscard]] Tokens tokens_of(std::size_t words) const {
    return Tokens(std::llround(behaviour_.tokens_per_word * static_cast<double>(words)));
  }

  /// Longest prefix shared with an earlier prompt, in whole blocks; remembers this one.
  Tokens look_up(const std::vector<std::string>& words, Tokens prompt) {
    if (!behaviour_.prefix_cache) return Tokens(0);
    std::size_t shared = 0;
    for (const auto& known : known_) {
      const auto end = std::mismatch(words.begin(), words.end(), known.begin(), known.end()).first;
      shared = std::max(shared, static_cast<std::size_t>(end - words.begin()));
    }
    known_.push_back(words);
    const std::int64_t blocks = std::min(tokens_of(shared), prompt - Tokens(1)).value() / kCacheBlock;
    return Tokens(blocks * kCacheBlock);
  }

  Seconds prefill_time(Tokens prompt, Tokens cached) {
    const Tokens fresh = behaviour_.constant_time ? Tokens(64) : prompt - cached;
    Seconds time = behaviour_.law.time(fresh, behaviour_.constant_time ? Tokens(0) : cached);
    time = time * std::exp(behaviour_.noise * noise_.normal());
    const bool slow = behaviour_.slow_every > 0 && completions_.load() % behaviour_.slow_every == 0;
    return slow ? time * 3.0 : time;
  }

  std::string stream(const Json& usage, Fault fault) {
    const Json token = {
        {"choices", {{{"text", fault == Fault::silent_eos ? "" : "x"}, {"finish_reason", nullptr}}}},
        {"usage", nullptr}};
    const Json end = {{"choices", {{{"text", ""}, {"finish_reason", "length"}}}}, {"usage", nullptr}};
    const Json total = {{"choices", Json::array()}, {"usage", usage}};
    std::vector<std::string> events;
    if (fault == Fault::garbage) events.emplace_back("{\"choices\": [{\"te");
    if (fault != Fault::no_token) events.insert(events.end(), {token.dump(), end.dump()});
    if (behaviour_.report_stream_usage) events.push_back(total.dump());
    events.emplace_back("[DONE]");
    const std::string whole = framed(behaviour_.framing, events);
    if (fault == Fault::damaged) return damage(whole);
    return fault == Fault::hang_up ? whole.substr(0, whole.size() / 2) : whole;
  }

  std::string damage(std::string bytes) {
    for (auto edits = 1 + noise_.below(6); edits > 0; --edits) {
      const std::size_t at = noise_.below(bytes.size());
      switch (noise_.below(4)) {
        case 0:
          bytes[at] = static_cast<char>(noise_.below(256));
          break;
        case 1:
          bytes.erase(at, 1);
          break;
        case 2:
          bytes.insert(at, 1, bytes[at]);
          break;
        default:
          bytes[at] = '9';
          break;
      }
    }
    return bytes;
  }

  ServerBehaviour behaviour_;
  Clock& clock_;
  Random noise_;
  std::vector<std::vector<std::string>> known_;
  std::atomic<int> completions_{0};
  asio::io_context context_;
  std::vector<tcp::socket> hanging_;
  tcp::acceptor acceptor_;
  unsigned port_;
  std::thread thread_;
};

OpenAiServer::OpenAiServer(ServerBehaviour behaviour, Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(behaviour), clock)) {}
OpenAiServer::~OpenAiServer() = default;
std::string OpenAiServer::url() const {
  return "http://127.0.0.1:" + std::to_string(impl_->port());
}
int OpenAiServer::completions() const {
  return impl_->completions();
}

}  // namespace fulcrum::testing_support
