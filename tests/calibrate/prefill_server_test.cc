// The server probe against a real HTTP server on 127.0.0.1 whose prefill law is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "calibrate/prefill_source.h"
#include "tests/support/openai_server.h"

namespace fulcrum::calibrate {
namespace {

using testing_support::Fault;
using testing_support::Framing;
using testing_support::OpenAiServer;
using testing_support::ServerBehaviour;
using testing_support::SharedClock;

/// About an 8B model on a fast GPU: 8 ms a request, 20 us a token, attention 0.5 ns a token squared.
PrefillLaw law() {
  PrefillLaw result;
  result.theta = {0.008, 0, 20e-6, 0.5e-9, 0.05e-6, 0};
  return result;
}

ServerBehaviour well_behaved() {
  ServerBehaviour behaviour;
  behaviour.law = law();
  return behaviour;
}

ServerProbeOptions options_for(const OpenAiServer& server) {
  ServerProbeOptions options;
  options.url = server.url();
  return options;
}

/// Probes with exact waits.
Result<PrefillServerReport> probe(const ServerBehaviour& behaviour, ServerProbeOptions options = {}) {
  SharedClock clock;
  const OpenAiServer server(behaviour, clock);
  options.url = server.url();
  const std::atomic<bool> stop{false};
  return probe_prefill_server(options, clock, {}, stop);
}

PrefillServerReport good_probe(const ServerBehaviour& behaviour, const ServerProbeOptions& options = {}) {
  auto report = probe(behaviour, options);
  EXPECT_TRUE(report.has_value()) << (report.has_error() ? report.error().message() : "");
  return report.has_value() ? *report : PrefillServerReport{};
}

Error bad_probe(const ServerBehaviour& behaviour, const ServerProbeOptions& options = {}) {
  auto report = probe(behaviour, options);
  EXPECT_TRUE(report.has_error());
  return report.has_error() ? report.error() : Error{};
}

ServerProbeOptions brief() {
  ServerProbeOptions options;
  options.shapes = {{Tokens(256), Tokens(0)}, {Tokens(1024), Tokens(0)}, {Tokens(4096), Tokens(0)}};
  options.repeats = 2;
  return options;
}

bool says(const PrefillServerReport& report, std::string_view words) {
  return std::ranges::any_of(report.findings,
                             [&](const std::string& f) { return f.find(words) != std::string::npos; });
}

std::string all_findings(const PrefillServerReport& report) {
  std::string text;
  for (const std::string& finding : report.findings) text += finding + "\n";
  return text;
}

ModelShape model_8b() {
  ModelShape model;
  model.name = "8b";
  model.layers = model.full_attention_layers = 32;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_dim = model.value_dim = 128;
  return model;
}

TEST(PrefillServer, FitRecoversTheServersLawWithinItsInterval) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.noise = 0.02;
  int inside = 0;
  int all = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    behaviour.seed = seed;
    const auto report = good_probe(behaviour);
    EXPECT_EQ(report.verdict, Verdict::good) << all_findings(report);
    PrefillFitOptions fit;
    fit.tile_tokens = 1;
    auto profile = prefill_profile_from_server(report, model_8b(), fit);
    ASSERT_TRUE(profile.has_value()) << profile.error().message();
    for (const auto& [fresh, cached] :
         {std::pair(512, 0), {2048, 0}, {12000, 0}, {1024, 8192}, {2048, 16384}}) {
      const Seconds truth = law().time(Tokens(fresh), Tokens(cached));
      const auto found = profile->cost.expected(Tokens(fresh), Tokens(cached));
      EXPECT_NEAR(profile->cost.time(Tokens(fresh), Tokens(cached)) / truth, 1, 0.05)
          << seed << ": " << fresh;
      inside += found.contains(truth) ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(inside, all * 8 / 10) << "of " << all;
}

TEST(PrefillServer, ReportsWhatItAskedAndWhatItFound) {
  SharedClock clock;
  const OpenAiServer server(well_behaved(), clock);
  const std::atomic<bool> stop{false};
  int last = -1;
  int calls = 0;
  const auto progress = [&](int done, int all, std::string_view what) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, all);
    EXPECT_FALSE(what.empty());
    last = done;
    ++calls;
  };
  auto report = probe_prefill_server(options_for(server), clock, progress, stop);
  ASSERT_TRUE(report.has_value()) << report.error().message();
  EXPECT_EQ(report->model, "test-model");
  EXPECT_EQ("http://" + report->server, server.url());
  EXPECT_EQ(report->points.size(), 7U);
  EXPECT_EQ(report->samples.size(), 35U);
  EXPECT_EQ(report->requests, 2 + 7 * 6);
  EXPECT_EQ(server.completions(), report->requests + 2) << "two more counted tokens";
  EXPECT_GE(calls, report->requests);
  EXPECT_TRUE(report->findings.empty()) << all_findings(*report);
  for (const PrefillPoint& point : report->points) {
    EXPECT_NEAR(point.minimum / law().time(point.fresh, point.cached), 1, 0.01);
  }
}

TEST(PrefillServer, TimesRealWaits) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.law.theta = {0.004, 0, 4e-6, 0, 0, 0};
  SteadyClock clock;
  const OpenAiServer server(behaviour, clock);
  ServerProbeOptions options = brief();
  options.url = server.url();
  const std::atomic<bool> stop{false};
  auto report = probe_prefill_server(options, clock, {}, stop);
  ASSERT_TRUE(report.has_value()) << report.error().message();
  for (const PrefillPoint& point : report->points) {
    const Seconds truth = behaviour.law.time(point.fresh, point.cached);
    EXPECT_GE(point.minimum, truth);
    EXPECT_LT(point.minimum, truth + Seconds(0.25)) << "far more than a local round trip";
  }
}

TEST(PrefillServer, AnyFramingAndAnySplitOfTheStreamIsRead) {
  for (const Framing framing : {Framing::chunked, Framing::content_length, Framing::until_close}) {
    ServerBehaviour behaviour = well_behaved();
    behaviour.framing = framing;
    behaviour.byte_by_byte = true;
    const auto report = good_probe(behaviour, brief());
    EXPECT_EQ(report.samples.size(), 6U);
    EXPECT_EQ(report.verdict, Verdict::good);
  }
}

TEST(PrefillServer, EveryFailureHasItsKindAndTheServersOwnWords) {
  const std::pair<int, ErrorKind> statuses[] = {{400, ErrorKind::bad_input}, {401, ErrorKind::permission},
                                                {404, ErrorKind::not_found}, {429, ErrorKind::busy},
                                                {500, ErrorKind::device},    {503, ErrorKind::busy},
                                                {504, ErrorKind::timed_out}, {302, ErrorKind::corrupt}};
  for (const auto& [status, kind] : statuses) {
    ServerBehaviour behaviour = well_behaved();
    behaviour.fault = Fault::status;
    behaviour.fault_status = status;
    const Error error = bad_probe(behaviour, brief());
    EXPECT_EQ(error.kind, kind) << status;
    EXPECT_NE(error.message().find("made to fail"), std::string::npos) << error.message();
    EXPECT_FALSE(error.next_step.empty());
  }
}

TEST(PrefillServer, BrokenAnswersAreTold) {
  const std::tuple<Fault, ErrorKind, const char*> cases[] = {
      {Fault::garbage, ErrorKind::corrupt, "not JSON"},
      {Fault::no_token, ErrorKind::corrupt, "without a token"},
      {Fault::hang_up, ErrorKind::unreachable, "hung up"},
      {Fault::not_http, ErrorKind::corrupt, "not HTTP"}};
  for (const auto& [fault, kind, words] : cases) {
    ServerBehaviour behaviour = well_behaved();
    behaviour.fault = fault;
    behaviour.fault_from = 2;
    const Error error = bad_probe(behaviour, brief());
    EXPECT_EQ(error.kind, kind) << error.message();
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
  }
}

TEST(PrefillServer, OneFailureThatPassesIsForgiven) {
  for (const Fault fault : {Fault::status, Fault::hang_up, Fault::garbage, Fault::no_token}) {
    ServerBehaviour behaviour = well_behaved();
    behaviour.fault = fault;
    behaviour.fault_from = 4;
    behaviour.fault_count = 1;
    EXPECT_EQ(good_probe(behaviour, brief()).samples.size(), 6U);
  }
}

TEST(PrefillServer, AHangEndsAtTheTimeout) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.law = {};
  behaviour.fault = Fault::hang;
  SteadyClock clock;
  const OpenAiServer server(behaviour, clock);
  ServerProbeOptions options = brief();
  options.url = server.url();
  options.timeout = Seconds(0.1);
  const std::atomic<bool> stop{false};
  const Seconds start = clock.now();
  auto report = probe_prefill_server(options, clock, {}, stop);
  ASSERT_TRUE(report.has_error());
  EXPECT_EQ(report.error().kind, ErrorKind::timed_out);
  EXPECT_LT(clock.now() - start, Seconds(2));
}

TEST(PrefillServer, AStopEndsAWaitAtOnce) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.law = {};
  behaviour.fault = Fault::hang;
  SteadyClock clock;
  const OpenAiServer server(behaviour, clock);
  ServerProbeOptions options = brief();
  options.url = server.url();
  std::atomic<bool> stop{false};
  std::thread operator_hand([&] {
    while (server.completions() == 0) std::this_thread::yield();
    stop = true;
  });
  const Seconds start = clock.now();
  auto report = probe_prefill_server(options, clock, {}, stop);
  operator_hand.join();
  ASSERT_TRUE(report.has_error());
  EXPECT_EQ(report.error().kind, ErrorKind::interrupted);
  EXPECT_LT(clock.now() - start, Seconds(2));
}

TEST(PrefillServer, ANobodyAtTheOtherEndIsUnreachable) {
  SteadyClock clock;
  std::string url;
  {
    const OpenAiServer gone(well_behaved(), clock);
    url = gone.url();
  }
  ServerProbeOptions options = brief();
  options.url = url;
  const std::atomic<bool> stop{false};
  auto report = probe_prefill_server(options, clock, {}, stop);
  ASSERT_TRUE(report.has_error());
  EXPECT_EQ(report.error().kind, ErrorKind::unreachable);
}

TEST(PrefillServer, TheKeyIsSentAndAWrongOneIsTold) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.api_key = "secret";
  EXPECT_EQ(bad_probe(behaviour, brief()).kind, ErrorKind::permission);
  ServerProbeOptions options = brief();
  options.api_key = "secret";
  EXPECT_EQ(good_probe(behaviour, options).samples.size(), 6U);
}

TEST(PrefillServer, AnUnknownModelIsAnsweredWithTheServedOnes) {
  ServerProbeOptions options = brief();
  options.model = "other";
  const Error error = bad_probe(well_behaved(), options);
  EXPECT_EQ(error.kind, ErrorKind::not_found);
  EXPECT_NE(error.message().find("test-model"), std::string::npos) << error.message();
}

TEST(PrefillServer, AServerThatAnswersFromACacheIsCaught) {
  ServerBehaviour liar = well_behaved();
  liar.constant_time = true;
  const auto report = good_probe(liar);
  EXPECT_EQ(report.verdict, Verdict::cached);
  EXPECT_TRUE(says(report, "does not grow")) << all_findings(report);

  ServerBehaviour boaster = well_behaved();
  boaster.claims_all_cached = true;
  const auto claimed = good_probe(boaster);
  EXPECT_EQ(claimed.verdict, Verdict::cached);
  EXPECT_TRUE(says(claimed, "nobody had sent before")) << all_findings(claimed);
}

TEST(PrefillServer, WarmPromptsOfAServerWithoutAPrefixCacheAreNotTakenForHits) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.prefix_cache = false;
  const auto told = good_probe(behaviour);
  EXPECT_TRUE(says(told, "found nothing in its prefix cache")) << all_findings(told);
  EXPECT_TRUE(
      std::ranges::all_of(told.samples, [](const PrefillSample& s) { return s.cached == Tokens(0); }));

  behaviour.report_cached = false;
  const auto silent = good_probe(behaviour);
  EXPECT_TRUE(says(silent, "no prefix cache")) << all_findings(silent);
  EXPECT_TRUE(
      std::ranges::all_of(silent.samples, [](const PrefillSample& s) { return s.cached == Tokens(0); }));
}

TEST(PrefillServer, WarmPromptsCountTheSentPrefixWhereTheServerDoesNotSay) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.report_cached = false;
  const auto report = good_probe(behaviour);
  EXPECT_TRUE(report.findings.empty()) << all_findings(report);
  EXPECT_EQ(
      std::ranges::count_if(report.samples, [](const PrefillSample& s) { return s.cached > Tokens(0); }),
      3 * 5);
}

TEST(PrefillServer, ABusyServerIsNoisy) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.slow_every = 2;
  ServerProbeOptions options;
  options.shapes = {{Tokens(256), Tokens(0)}, {Tokens(1024), Tokens(0)}, {Tokens(4096), Tokens(0)}};
  options.repeats = 5;
  const auto report = good_probe(behaviour, options);
  EXPECT_TRUE(says(report, "left out")) << all_findings(report);
  for (const PrefillSample& s : report.samples) {
    EXPECT_NEAR(s.time / law().time(s.fresh, s.cached), 1, 0.01)
        << "a queued request was taken for a prefill";
  }
}

TEST(PrefillServer, ATokenWithoutTextIsStillTheEndOfThePrefill) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.fault = Fault::silent_eos;
  EXPECT_EQ(good_probe(behaviour, brief()).samples.size(), 6U);
}

TEST(PrefillServer, StaysWithinTheContextThatTheServerNames) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.context_max = Tokens(8'192);
  const auto report = good_probe(behaviour);
  EXPECT_EQ(report.context_max, Tokens(8'192));
  EXPECT_TRUE(says(report, "beyond the server's 8,192")) << all_findings(report);
  EXPECT_EQ(report.points.size(), 5U) << "256, 1K, 4K, a shortened one, and 1K behind 4K";
}

TEST(PrefillServer, GoesOnWithoutALengthThatTheServerRefuses) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.context_max = Tokens(8'192);
  behaviour.names_context = false;
  const auto report = good_probe(behaviour);
  EXPECT_TRUE(says(report, "longer than the model's context")) << all_findings(report);
  EXPECT_EQ(report.points.size(), 4U);
}

TEST(PrefillServer, CountsTokensByTheWordWhereStreamsHaveNoUsage) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.report_stream_usage = false;
  const auto report = good_probe(behaviour, brief());
  EXPECT_TRUE(says(report, "no usage")) << all_findings(report);
  for (const PrefillSample& s : report.samples) {
    EXPECT_NEAR(s.time / law().time(s.fresh, s.cached), 1, 0.01);
  }
  behaviour.report_usage = false;
  EXPECT_EQ(bad_probe(behaviour, brief()).kind, ErrorKind::unsupported);
}

TEST(PrefillServer, RefusesOptionsThatMakeNoSense) {
  const std::atomic<bool> stop{false};
  SteadyClock clock;
  ServerProbeOptions options;
  options.url = "https://host";
  EXPECT_EQ(probe_prefill_server(options, clock, {}, stop).error().kind, ErrorKind::unsupported);
  options.url = "http://host";
  options.repeats = 0;
  EXPECT_EQ(probe_prefill_server(options, clock, {}, stop).error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace fulcrum::calibrate
