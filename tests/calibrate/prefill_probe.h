// Probes of the test server: well behaved unless told otherwise, with waits that are exact and free.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>

#include "calibrate/prefill_source.h"
#include "tests/support/openai_server.h"

namespace fulcrum::calibrate {

using testing_support::Fault;
using testing_support::Framing;
using testing_support::OpenAiServer;
using testing_support::ServerBehaviour;
using testing_support::SharedClock;

/// About an 8B model on a fast GPU: 8 ms a request, 20 us a token, attention 0.5 ns a token squared.
inline PrefillLaw law() {
  PrefillLaw result;
  result.theta = {0.008, 0, 20e-6, 0.5e-9, 0.05e-6, 0};
  return result;
}

inline ServerBehaviour well_behaved() {
  ServerBehaviour behaviour;
  behaviour.law = law();
  return behaviour;
}

inline ServerProbeOptions options_for(const OpenAiServer& server) {
  ServerProbeOptions options;
  options.url = server.url();
  return options;
}

/// Probes with exact waits.
inline Result<PrefillServerReport> probe(const ServerBehaviour& behaviour, ServerProbeOptions options = {}) {
  SharedClock clock;
  const OpenAiServer server(behaviour, clock);
  options.url = server.url();
  const std::atomic<bool> stop{false};
  return probe_prefill_server(options, clock, {}, stop);
}

inline PrefillServerReport good_probe(const ServerBehaviour& behaviour,
                                      const ServerProbeOptions& options = {}) {
  auto report = probe(behaviour, options);
  EXPECT_TRUE(report.has_value()) << (report.has_error() ? report.error().message() : "");
  return report.has_value() ? *report : PrefillServerReport{};
}

inline Error bad_probe(const ServerBehaviour& behaviour, const ServerProbeOptions& options = {}) {
  auto report = probe(behaviour, options);
  EXPECT_TRUE(report.has_error());
  return report.has_error() ? report.error() : Error{};
}

inline ServerProbeOptions brief() {
  ServerProbeOptions options;
  options.shapes = {{Tokens(256), Tokens(0)}, {Tokens(1024), Tokens(0)}, {Tokens(4096), Tokens(0)}};
  options.repeats = 2;
  return options;
}

inline bool says(const PrefillServerReport& report, std::string_view words) {
  return std::ranges::any_of(report.findings,
                             [&](const std::string& f) { return f.find(words) != std::string::npos; });
}

inline std::string all_findings(const PrefillServerReport& report) {
  std::string text;
  for (const std::string& finding : report.findings) text += finding + "\n";
  return text;
}

}  // namespace fulcrum::calibrate
