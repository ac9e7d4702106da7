// What `fulcrum breakeven` says about a machine.
#include "model/break_even_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/model/planted.h"

namespace fulcrum {
namespace {

template <class T>
Measured<T> within(T value, double spread) {
  return {value, value * (1 - spread), value * (1 + spread), 9, Verdict::good};
}

TierProfile tier(const std::string& name, BytesPerSecond rate, Seconds setup) {
  TierProfile t;
  t.name = name;
  t.read = within(rate, 0.03);
  t.setup = within(setup, 0.1);
  t.sigma = {0.05, 0.03, 0.07, 9, Verdict::good};
  t.k = {0.01, 0.008, 0.012, 9, Verdict::good};
  return t;
}

/// An 8B model with DRAM, a fast drive and a slow one.
MachineProfile machine() {
  MachineProfile profile;
  profile.tiers = {tier("dram", 50_GBps, 500_us), tier("nvme", 6_GBps, 5_ms),
                   tier("hdd", BytesPerSecond(2e8), 20_ms)};
  Random random(1);
  const auto fit = fit_prefill(test::timings(test::planted_law(), 0.02, 3, random), {});
  EXPECT_TRUE(fit.has_value());
  PrefillProfile prefill;
  prefill.gpu = "one GPU";
  prefill.model = "8B";
  prefill.kv_bytes_per_token = BytesPerToken(131072);
  prefill.cost = *fit;
  profile.prefill = prefill;
  return profile;
}

BreakEvenReport report_of(const MachineProfile& profile, const BreakEvenQuestion& question) {
  const auto report = break_even_report(profile, question);
  EXPECT_TRUE(report.has_value()) << (report.has_error() ? report.error().message() : "");
  return report.has_value() ? *report : BreakEvenReport{};
}

TEST(BreakEvenReport, OrdersTiersByWhatTheyAreGoodFor) {
  const BreakEvenReport report = report_of(machine(), {});
  ASSERT_EQ(report.tiers.size(), 3u);
  EXPECT_LT(report.tiers[0].break_even.value, Tokens(100));
  EXPECT_GT(report.tiers[1].break_even.value, report.tiers[0].break_even.value);
  EXPECT_GT(report.tiers[2].break_even.value, Tokens(1'000'000));
  for (const TierBreakEven& t : report.tiers) {
    EXPECT_LE(t.break_even.low, t.break_even.value) << t.name;
    EXPECT_LE(t.break_even.value, t.break_even.high) << t.name;
  }
  EXPECT_EQ(report.tiers[0].clears.front(), Clears::yes);
  EXPECT_EQ(report.tiers[2].clears.back(), Clears::no);
}

TEST(BreakEvenReport, NeedsLessBandwidthWithDepth) {
  const BreakEvenReport report = report_of(machine(), {});
  ASSERT_EQ(report.needed.size(), report.positions.size());
  EXPECT_TRUE(std::is_sorted(report.needed.rbegin(), report.needed.rend(),
                             [](const auto& a, const auto& b) { return a.value < b.value; }));
}

TEST(BreakEvenReport, MovesTheBreakEvenUpUnderLoadAndDownWithLead) {
  const Tokens alone = report_of(machine(), {}).tiers[1].break_even.value;
  EXPECT_GT(report_of(machine(), {.loads = 4}).tiers[1].break_even.value, alone);
  EXPECT_LT(report_of(machine(), {.lead = 4_ms}).tiers[1].break_even.value, alone);
  EXPECT_EQ(report_of(machine(), {.lead = 1_s}).tiers[1].break_even.value, Tokens(0));
}

TEST(BreakEvenReport, AnswersWhatIf) {
  BreakEvenQuestion question;
  question.setup = 100_ms;
  EXPECT_GT(report_of(machine(), question).tiers[1].break_even.value, Tokens(5000));
  question.bandwidth = 1_GBps;
  for (const auto& t : report_of(machine(), question).tiers) EXPECT_EQ(t.rate.value, 1_GBps);
  MachineProfile bare = machine();
  bare.tiers.clear();
  ASSERT_EQ(report_of(bare, question).tiers.size(), 1u);
  EXPECT_EQ(report_of(bare, question).tiers[0].name, "what-if");
  EXPECT_TRUE(report_of(bare, {}).tiers.empty());
}

TEST(BreakEvenReport, SpeaksInSentences) {
  TierBreakEven t;
  t.name = "nvme";
  t.break_even = {Tokens(12345), Tokens(9812), Tokens(15871), 9, Verdict::good};
  EXPECT_EQ(t.sentence(),
            "nvme: read prefixes of 12,300 tokens or more (9,810 to 15,900); recompute shorter ones");
  t.break_even = {Tokens(12345), Tokens(9812), kNever, 9, Verdict::good};
  EXPECT_EQ(t.sentence(),
            "nvme: read prefixes of 12,300 tokens or more (9,810 to never); recompute shorter ones");
  t.break_even = {kNever, kNever, kNever, 9, Verdict::good};
  EXPECT_EQ(t.sentence(), "nvme: recompute everything; no length pays");
  t.break_even = {Tokens(0), Tokens(0), Tokens(0), 9, Verdict::good};
  EXPECT_NE(t.sentence().find("read everything"), std::string::npos);
}

TEST(BreakEvenReport, SaysWhatIsMissing) {
  MachineProfile profile = machine();
  profile.prefill->kv_bytes_per_token = BytesPerToken(0);
  EXPECT_TRUE(break_even_report(profile, {}).has_error());
  profile.prefill.reset();
  const auto report = break_even_report(profile, {});
  ASSERT_TRUE(report.has_error());
  EXPECT_NE(report.error().message().find("--prefill-datasheet"), std::string::npos)
      << report.error().message();
}

TEST(BreakEvenReport, RefusesImpossibleQuestions) {
  EXPECT_TRUE(break_even_report(machine(), {.lead = Seconds(-1)}).has_error());
  EXPECT_TRUE(break_even_report(machine(), {.loads = 0}).has_error());
  BreakEvenQuestion question;
  question.bandwidth = BytesPerSecond(0);
  EXPECT_TRUE(break_even_report(machine(), question).has_error());
  question = {};
  question.positions = {Tokens(-1)};
  EXPECT_TRUE(break_even_report(machine(), question).has_error());
}

}  // namespace
}  // namespace fulcrum
