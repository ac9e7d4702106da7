// HttpClient: one HTTP/1.1 request at a time to one server, with a deadline and a stop flag.
//
// Every request has its own connection, so a server that hung up spoils no other. The time that counts
// starts when the connection stands and the request is about to be written. Plain HTTP only.
// Threads: one at a time. Files: prefill_http.cc is the only user of Boost.Asio and Boost.Beast.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "fulcrum/result.h"
#include "fulcrum/units.h"

namespace fulcrum::calibrate {

struct HttpUrl {
  std::string host;
  std::string port = "80";
  std::string path;  ///< without a slash at its end; empty for the root

  [[nodiscard]] std::string authority() const { return host + ":" + port; }
  /// Kinds: bad_input (not http://host[:port][/path]), unsupported (https).
  static Result<HttpUrl> parse(std::string_view url);
};

struct HttpRequest {
  std::string target;  ///< path on the server
  std::string body;    ///< JSON, sent with POST; empty: GET
  std::string bearer;  ///< empty: no Authorization header
};

struct HttpAnswer {
  int status = 0;
  std::string body;  ///< what the sink did not take
  Seconds sent{};    ///< when the request was about to be written
};

class HttpClient {
 public:
  static constexpr std::size_t kBodyMax = std::size_t{32} << 20;
  /// Takes body bytes of a 200 answer as they arrive.
  using Sink = std::function<void(std::string_view bytes)>;

  HttpClient(HttpUrl server, Clock& clock, Seconds timeout, const std::atomic<bool>& stop)
      : server_(std::move(server)), clock_(clock), timeout_(timeout), stop_(stop) {}

  /// Sends and reads the whole answer, whatever its status. Without a sink the body is kept.
  /// Kinds: unreachable (no such host, refused, hung up), timed_out, interrupted, corrupt (not HTTP, too
  /// long).
  Result<HttpAnswer> exchange(const HttpRequest& request, const Sink& sink = {});
  [[nodiscard]] const HttpUrl& server() const { return server_; }

 private:
  HttpUrl server_;
  Clock& clock_;
  Seconds timeout_;
  const std::atomic<bool>& stop_;
};

}  // namespace fulcrum::calibrate
