#include "calibrate/prefill_http.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <utility>

#include "base/errors.h"
#include "base/text.h"

namespace fulcrum::calibrate {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

/// How often a waiting exchange looks at the stop flag and the clock. Answers are taken at once.
constexpr std::chrono::milliseconds kLook{20};

/// One connection and what happens on it.
class Connection {
 public:
  Connection(const HttpUrl& server, Clock& clock, Seconds timeout, const std::atomic<bool>& stop)
      : server_(server),
        clock_(clock),
        deadline_(clock.now() + timeout),
        timeout_(timeout),
        stop_(stop),
        resolver_(context_),
        socket_(context_) {}

  Result<void> open() {
    asio::ip::tcp::resolver::results_type found;
    error_code failure = await([&](auto done) {
      resolver_.async_resolve(server_.host, server_.port, [&found, done](const error_code& e, auto results) {
        found = std::move(results);
        done(e);
      });
    });
    if (failure) return error(failure, "look up");
    failure = await([&](auto done) {
      asio::async_connect(socket_, found, [done](const error_code& e, const auto&) { done(e); });
    });
    if (failure) return error(failure, "connect to");
    socket_.set_option(asio::ip::tcp::no_delay(true), failure);
    return {};
  }

  Result<void> send(http::request<http::string_body>& message) {
    const error_code failure = await([&](auto done) {
      http::async_write(socket_, message, [done](const error_code& e, std::size_t) { done(e); });
    });
    if (failure) return error(failure, "write to");
    return {};
  }

  Result<void> receive(const HttpClient::Sink& sink, HttpAnswer& answer) {
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(HttpClient::kBodyMax);
    error_code failure = await([&](auto done) {
      http::async_read_header(socket_, buffer, parser, [done](const error_code& e, std::size_t) { done(e); });
    });
    if (failure) return error(failure, "read from");
    answer.status = static_cast<int>(parser.get().result_int());
    while (!parser.is_done()) {
      failure = await([&](auto done) {
        http::async_read_some(socket_, buffer, parser, [done](const error_code& e, std::size_t) { done(e); });
      });
      std::string piece = std::exchange(parser.get().body(), {});
      if (sink && answer.status == 200) {
        if (!piece.empty()) sink(piece);
      } else {
        answer.body += piece;
      }
      if (failure) return error(failure, "read from");
    }
    return {};
  }

 private:
  /// Runs one asynchronous step to its end; after the deadline or a stop the socket is closed under it.
  template <class Start>
  error_code await(Start start) {
    bool finished = false;
    error_code result;
    start([&finished, &result](const error_code& e) {
      result = e;
      finished = true;
    });
    while (!finished) {
      context_.restart();
      context_.run_one_for(kLook);
      if (finished || given_up()) continue;
      stopped_ = stop_.load();
      expired_ = clock_.now() > deadline_;
      if (!given_up()) continue;
      error_code ignored;
      resolver_.cancel();
      socket_.close(ignored);
    }
    return result;
  }

  [[nodiscard]] bool given_up() const { return stopped_ || expired_; }

  [[nodiscard]] Error error(const error_code& failure, const char* step) const {
    const std::string where = server_.authority();
    if (stopped_) return make_error(ErrorKind::interrupted, step, where, "stopped");
    if (expired_) {
      Error late = make_error(ErrorKind::timed_out, step, where,
                              "no whole answer within " + std::to_string(timeout_.value()) + " s",
                              "see whether the server hangs, or allow more time");
      late.retryable = true;
      return late;
    }
    if (failure.category() == http::make_error_code(http::error::bad_version).category()) {
      const bool hung_up = failure == http::error::partial_message || failure == http::error::end_of_stream;
      return make_error(hung_up ? ErrorKind::unreachable : ErrorKind::corrupt, step, where,
                        hung_up ? "the server hung up in the middle of its answer"
                                : "the answer is not HTTP: " + failure.message(),
                        hung_up ? "look into the server's log" : "check that the URL names an HTTP server");
    }
    return make_error(ErrorKind::unreachable, step, where, failure.message(),
                      "check the host, the port, and that the server runs");
  }

  const HttpUrl& server_;
  Clock& clock_;
  Seconds deadline_;
  Seconds timeout_;
  const std::atomic<bool>& stop_;
  bool stopped_ = false;
  bool expired_ = false;
  asio::io_context context_;
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
};

Error bad_url(std::string_view url) {
  return bad_input(std::string(url), "this is not a server's URL", "write it as http://host:port");
}

}  // namespace

Result<HttpUrl> HttpUrl::parse(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) {
    return make_error(ErrorKind::unsupported, "use", std::string(url), "https is not spoken here",
                      "give an http:// URL of the server itself, or of a local tunnel to it");
  }
  if (!url.starts_with(kScheme)) return bad_url(url);
  const std::string_view rest = url.substr(kScheme.size());
  const auto slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  HttpUrl parsed;
  if (slash != std::string_view::npos) parsed.path = rest.substr(slash);
  while (parsed.path.ends_with('/')) parsed.path.pop_back();
  const auto colon = authority.find(':');
  parsed.host = authority.substr(0, colon);
  if (colon != std::string_view::npos) parsed.port = authority.substr(colon + 1);
  const auto port = parse_integer(parsed.port);
  const bool odd = url.find_first_of(" \t\r\n?#@[]") != std::string_view::npos;
  if (parsed.host.empty() || !port || *port < 1 || *port > 65'535 || odd) return bad_url(url);
  return parsed;
}

Result<HttpAnswer> HttpClient::exchange(const HttpRequest& request, const Sink& sink) {
  http::request<http::string_body> message(request.body.empty() ? http::verb::get : http::verb::post,
                                           server_.path + request.target, 11);
  message.set(http::field::host, server_.authority());
  message.set(http::field::user_agent, "fulcrum");
  message.set(http::field::connection, "close");
  if (!request.bearer.empty()) message.set(http::field::authorization, "Bearer " + request.bearer);
  if (!request.body.empty()) message.set(http::field::content_type, "application/json");
  message.body() = request.body;
  message.prepare_payload();

  Connection connection(server_, clock_, timeout_, stop_);
  auto opened = connection.open();
  if (opened.has_error()) return opened.error();
  HttpAnswer answer;
  answer.sent = clock_.now();
  auto sent = connection.send(message);
  if (sent.has_error()) return sent.error();
  auto received = connection.receive(sink, answer);
  if (received.has_error()) return received.error();
  return answer;
}

}  // namespace fulcrum::calibrate
