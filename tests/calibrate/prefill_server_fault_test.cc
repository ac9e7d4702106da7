// The server probe against servers that fail, break off, hang or make no sense.
#include <gtest/gtest.h>

#include <thread>

#include "tests/calibrate/prefill_probe.h"

namespace fulcrum::calibrate {
namespace {

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

TEST(PrefillServer, DamagedAnswersNeverCrashOrHang) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.fault = Fault::damaged;
  behaviour.fault_from = 2;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    behaviour.seed = seed;
    behaviour.framing = seed % 2 == 0 ? Framing::chunked : Framing::content_length;
    if (probe(behaviour, brief()).has_error()) ++refused;
  }
  EXPECT_GT(refused, 75) << "seeds 1 to 150: hardly any damage was noticed";
}

}  // namespace
}  // namespace fulcrum::calibrate
