#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "calibrate/prefill_source.h"
#include "tests/support/scratch.h"

namespace fulcrum::calibrate {
namespace {

std::string write(const std::string& text) {
  const std::string path = test::temp_path("prefill.csv");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string message_of(const std::string& text) {
  auto samples = read_prefill_csv(write(text));
  return samples.has_error() ? samples.error().message() : "";
}

TEST(PrefillCsv, ReadsSamplesInAnyColumnOrder) {
  auto samples = read_prefill_csv(
      write("# H200, one GPU\r\nseconds,note,new_tokens,cached_tokens\r\n\r\n0.120,a,4096,0\r\n # "
            "b\r\n1.5e-1,,1024, 16384"));
  ASSERT_TRUE(samples.has_value()) << samples.error().message();
  ASSERT_EQ(samples->size(), 2U);
  EXPECT_EQ((*samples)[0].fresh, Tokens(4096));
  EXPECT_EQ((*samples)[0].cached, Tokens(0));
  EXPECT_EQ((*samples)[0].time, Seconds(0.120));
  EXPECT_EQ((*samples)[1].fresh, Tokens(1024));
  EXPECT_EQ((*samples)[1].cached, Tokens(16384));
  EXPECT_EQ((*samples)[1].time, Seconds(0.15));
}

TEST(PrefillCsv, RefusesWhatIsNoPositiveTimeOrCount) {
  const std::string head = "new_tokens,cached_tokens,seconds\n";
  for (const char* row : {"1,0,nan", "1,0,inf", "1,0,0", "1,0,-1", "0,0,1", "-5,0,1", "1,-1,1", "1.5,0,1",
                          "1,0,1,1", "1,0", "1,,1", "1,0,1s", "99999999999,0,1"}) {
    const std::string message = message_of(head + row + "\n");
    EXPECT_NE(message.find(".csv:2: "), std::string::npos) << row << ": " << message;
  }
}

TEST(PrefillCsv, ReportsAllBadLinesAtOnce) {
  const std::string message = message_of("new_tokens,cached_tokens,seconds\n1,0,nan\n256,0,0.01\n1,-3,1\n");
  EXPECT_NE(message.find(":2: seconds \"nan\""), std::string::npos) << message;
  EXPECT_NE(message.find(":4: cached_tokens \"-3\""), std::string::npos) << message;
  EXPECT_EQ(message.find(":3: "), std::string::npos) << message;
}

TEST(PrefillCsv, SaysWhatTheHeaderMustBe) {
  EXPECT_NE(message_of("tokens,seconds\n1,1\n").find(":1: the header must name"), std::string::npos);
  EXPECT_NE(message_of("").find("no samples"), std::string::npos);
  EXPECT_NE(message_of("new_tokens,cached_tokens,seconds\n").find("no samples"), std::string::npos);
}

TEST(PrefillCsv, AMissingFileIsNotFound) {
  auto samples = read_prefill_csv("/nonexistent/samples.csv");
  ASSERT_TRUE(samples.has_error());
  EXPECT_EQ(samples.error().kind, ErrorKind::not_found);
}

TEST(PrefillCsv, RandomBytesNeverCrash) {
  Random random(3);
  const std::string alphabet = "0123456789,.-e#\nnaif \r\xff";
  for (int round = 0; round < 100; ++round) {
    std::string text = "new_tokens,cached_tokens,seconds\n";
    for (auto n = random.below(80); n > 0; --n) text += alphabet[random.below(alphabet.size())];
    auto samples = read_prefill_csv(write(text));
    if (samples.has_value()) {
      for (const PrefillSample& s : *samples) ASSERT_GT(s.time.value(), 0) << text;
    }
  }
}

TEST(PrefillProfileFromSamples, HoldsTheModelsBytesAndTheirCount) {
  ModelShape model;
  model.name = "small";
  model.layers = model.full_attention_layers = 32;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_dim = model.value_dim = 128;
  std::vector<PrefillSample> samples;
  for (const int n : {256, 1024, 4096, 16384}) {
    const double t = 0.005 + 25e-6 * n + 0.5e-9 * n * n;
    samples.push_back({Tokens(n), Tokens(0), Seconds(t)});
  }
  auto profile = prefill_profile_from_samples(samples, model, "H200");
  ASSERT_TRUE(profile.has_value()) << profile.error().message();
  EXPECT_EQ(profile->source, PrefillSource::csv);
  EXPECT_EQ(profile->kv_bytes_per_token, BytesPerToken(131'072));
  EXPECT_EQ(profile->samples, 4);
  EXPECT_NEAR(profile->cost.time(Tokens(8192), Tokens(0)).value(),
              0.005 + 25e-6 * 8192 + 0.5e-9 * 8192 * 8192, 0.01);
  EXPECT_TRUE(prefill_profile_from_samples(std::span(samples).first(2), model, "H200").has_error());
}

TEST(PrefillProfileFromDatasheet, IsMarkedAsAnEstimateAndNamesTheNearestGpu) {
  auto model = ModelShape::from_file(FULCRUM_TEST_DATA "/model_configs/Qwen--Qwen3-8B_config.json");
  ASSERT_TRUE(model.has_value()) << model.error().message();
  auto profile = prefill_profile_from_datasheet("h200", *model);
  ASSERT_TRUE(profile.has_value()) << profile.error().message();
  EXPECT_EQ(profile->source, PrefillSource::datasheet);
  EXPECT_EQ(profile->cost.verdict, Verdict::estimated);
  EXPECT_EQ(profile->kv_bytes_per_token, BytesPerToken(147'456));
  const auto span = profile->cost.predict(Tokens(4096), Tokens(0));
  EXPECT_GT(span.high / span.low, 1.5);
  auto unknown = prefill_profile_from_datasheet("h20x", *model);
  ASSERT_TRUE(unknown.has_error());
  EXPECT_EQ(unknown.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace fulcrum::calibrate
