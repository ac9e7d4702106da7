// The parts of the server probe that need no server: events, prompts, URLs, and the judging of timings.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "calibrate/prefill_http.h"
#include "calibrate/prefill_judge.h"
#include "calibrate/prefill_prompt.h"
#include "calibrate/prefill_sse.h"

namespace fulcrum::calibrate {
namespace {

TEST(SseReader, GivesTheSameEventsHoweverTheBytesAreSplit) {
  const std::string text =
      ": comment\r\ndata: one\r\n\r\nevent: x\ndata:two\ndata: lines\n\nid: 7\n\ndata: \r\rdata: last\n\n";
  const std::vector<std::string> wanted = {"one", "two\nlines", "", "last"};
  for (std::size_t a = 0; a <= text.size(); ++a) {
    for (std::size_t b = a; b <= text.size(); ++b) {
      SseReader reader;
      std::vector<std::string> events;
      for (const std::string& piece : {text.substr(0, a), text.substr(a, b - a), text.substr(b)}) {
        for (std::string& event : reader.feed(piece)) events.push_back(std::move(event));
      }
      ASSERT_EQ(events, wanted) << a << ", " << b;
    }
  }
}

TEST(SseReader, StopsAtAnEventWithoutEnd) {
  SseReader reader;
  const std::string piece(std::size_t{64} << 10, 'x');
  for (int i = 0; i < 17; ++i) EXPECT_TRUE(reader.feed(piece).empty());
  EXPECT_TRUE(reader.overflow());
}

TEST(RandomPrompt, HasTheWantedWordsAndNeverTheSameStart) {
  Random random(5);
  std::set<std::string> starts;
  for (int i = 0; i < 1'000; ++i) {
    const std::string prompt = random_prompt(random, 20);
    ASSERT_EQ(std::ranges::count(prompt, ' '), 19);
    starts.insert(prompt.substr(0, 16));
  }
  EXPECT_EQ(starts.size(), 1'000U) << "seed 5";
}

TEST(TokensPerWord, GoesBothWays) {
  const auto law = TokensPerWord::from(64, Tokens(161), 512, Tokens(1281));
  EXPECT_NEAR(law.per_word, 2.5, 1e-12);
  EXPECT_NEAR(law.fixed, 1, 1e-9);
  EXPECT_EQ(law.words_for(Tokens(2501)), 1'000U);
  EXPECT_EQ(law.tokens_for(1'000), Tokens(2501));
  EXPECT_EQ(law.words_for(Tokens(0)), 1U);
}

TEST(HttpUrl, TakesPlainHttpApart) {
  const auto url = HttpUrl::parse("http://gpu-7.lan:8000/serving/v1/");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->host, "gpu-7.lan");
  EXPECT_EQ(url->port, "8000");
  EXPECT_EQ(url->path, "/serving/v1");
  EXPECT_EQ(HttpUrl::parse("http://host")->port, "80");
}

TEST(HttpUrl, RefusesEverythingElse) {
  for (const char* text :
       {"", "host:80", "http://", "http://:80", "http://h:0", "http://h:65536", "http://h:x", "ftp://h",
        "http://h h", "http://u@h", "http://h?x=1", "http://h\r\nX: y"}) {
    const auto url = HttpUrl::parse(text);
    ASSERT_TRUE(url.has_error()) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::bad_input) << text;
  }
  const auto secure = HttpUrl::parse("https://host");
  ASSERT_TRUE(secure.has_error());
  EXPECT_EQ(secure.error().kind, ErrorKind::unsupported);
  EXPECT_NE(secure.error().message().find("tunnel"), std::string::npos);
}

/// Timings of one shape, as given, in milliseconds.
ShapeTimings shape(int fresh, int cached, const std::vector<double>& milliseconds, bool reported = true) {
  ShapeTimings result{{Tokens(fresh), Tokens(cached)}, {}, reported};
  for (const double ms : milliseconds) {
    result.timings.push_back({Tokens(fresh), Tokens(cached), Seconds(ms * 1e-3)});
  }
  return result;
}

bool says(const PrefillServerReport& report, std::string_view words) {
  return std::ranges::any_of(report.findings,
                             [&](const std::string& f) { return f.find(words) != std::string::npos; });
}

PrefillServerReport judged(const std::vector<ShapeTimings>& shapes) {
  PrefillServerReport report;
  judge_timings(shapes, report);
  return report;
}

TEST(JudgeTimings, KeepsMinimumAndMedianApartAndCallsASteadyServerGood) {
  const auto report =
      judged({shape(4096, 0, {103, 100, 105}), shape(256, 0, {11, 10, 12}), shape(1024, 4096, {40, 41, 44})});
  EXPECT_EQ(report.verdict, Verdict::good);
  EXPECT_TRUE(report.findings.empty());
  ASSERT_EQ(report.points.size(), 3U);
  EXPECT_EQ(report.points[0].fresh, Tokens(256));
  EXPECT_NEAR(report.points[1].minimum.value(), 0.100, 1e-12);
  EXPECT_NEAR(report.points[1].median.value(), 0.103, 1e-12);
  EXPECT_EQ(report.samples.size(), 9U);
}

TEST(JudgeTimings, LeavesOutTimingsThatWaitedForSomething) {
  const auto report = judged({shape(256, 0, {10, 11, 30}), shape(4096, 0, {100, 101, 300})});
  EXPECT_EQ(report.samples.size(), 4U);
  EXPECT_EQ(report.verdict, Verdict::good);
  EXPECT_TRUE(says(report, "2 timings"));
}

TEST(JudgeTimings, CallsAServerBusyWhoseMedianIsFarFromItsMinimum) {
  const auto report = judged({shape(256, 0, {10, 20, 30}), shape(4096, 0, {100, 160, 300})});
  EXPECT_EQ(report.verdict, Verdict::noisy);
  EXPECT_TRUE(says(report, "busy"));
}

TEST(JudgeTimings, CatchesTimesThatDoNotGrow) {
  EXPECT_EQ(judged({shape(256, 0, {10, 10}), shape(16384, 0, {12, 12})}).verdict, Verdict::cached);
  EXPECT_EQ(judged({shape(256, 0, {10, 10}), shape(16384, 0, {40, 40})}).verdict, Verdict::good);
}

TEST(JudgeTimings, LeavesOutWarmTimesOfAServerWithoutAPrefixCache) {
  const std::vector<ShapeTimings> cold = {shape(1024, 0, {30}), shape(4096, 0, {120}),
                                          shape(16384, 0, {500})};
  auto shapes = cold;
  shapes.push_back(shape(1024, 4096, {150}, false));
  const auto none = judged(shapes);
  EXPECT_TRUE(says(none, "no prefix cache"));
  EXPECT_EQ(none.samples.size(), 3U);

  shapes.back() = shape(1024, 4096, {40}, false);
  const auto hit = judged(shapes);
  EXPECT_TRUE(hit.findings.empty());
  EXPECT_EQ(hit.samples.size(), 4U);
}

}  // namespace
}  // namespace fulcrum::calibrate
