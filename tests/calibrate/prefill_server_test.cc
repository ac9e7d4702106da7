// The server probe against a real HTTP server on 127.0.0.1 whose prefill law is known.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/calibrate/prefill_probe.h"

namespace fulcrum::calibrate {
namespace {

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
  EXPECT_EQ(report->requests, 3 + 7 * 6);
  EXPECT_EQ(server.completions(), report->requests + 2) << "two more counted tokens";
  EXPECT_GE(calls, report->requests);
  EXPECT_TRUE(report->findings.empty()) << all_findings(*report);
  for (const PrefillPoint& point : report->points) {
    EXPECT_NEAR(point.minimum / law().time(point.fresh, point.cached), 1, 0.01);
  }
}

TEST(PrefillServer, ASecondProbeWithTheSameSeedSendsPromptsThatAreNewAgain) {
  SharedClock clock;
  const OpenAiServer server(well_behaved(), clock);
  const std::atomic<bool> stop{false};
  for (int run = 0; run < 2; ++run) {
    auto report = probe_prefill_server(options_for(server), clock, {}, stop);
    ASSERT_TRUE(report.has_value()) << report.error().message();
    EXPECT_EQ(report->verdict, Verdict::good) << all_findings(*report);
    EXPECT_EQ(report->points.front().cached, Tokens(0));
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

TEST(PrefillServer, ATimingThatWaitedIsNotTakenForAPrefill) {
  ServerBehaviour behaviour = well_behaved();
  behaviour.slow_every = 4;
  ServerProbeOptions options = brief();
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

}  // namespace
}  // namespace fulcrum::calibrate
