// A decision's line tells all of it: it reads back, it decides again the same, and a broken one is refused.
#include "policy/decision_log.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

PolicyConfig log_policy() {
  PolicyConfig config = policy(Strategy::break_even, {{"dram", 40}, {"nvme", 300}, {"hdd", 1000}});
  config.margin = 60_ms;
  return config;
}

// Real decisions of a busy decider, on chains in two tiers.
std::vector<DecisionRecord> real_decisions(const PolicyConfig& config) {
  Decider own = decider(config);
  Host host(own);
  Random random(7);
  std::vector<DecisionRecord> records;
  Seconds now(0);
  for (RequestId id = 1; id <= 300; ++id) {
    now += Seconds(random.exponential());
    const Chain blocks = chain(static_cast<std::uint32_t>(random.below(12)), 1 + random.below(90));
    Request asked = request(id, blocks);
    asked.lead = Seconds(random.below(2) == 0 ? 0.0 : random.uniform() * 0.3);
    asked.gpu_load = random.uniform() * 0.9;
    if (random.below(2) == 0) {  // what is left to load may be too little to be worth it
      asked.resident = Tokens(static_cast<std::int64_t>(random.below(blocks.size() + 1)) * kBlockTokens);
    }
    records.push_back(record_of(asked, own.on_schedule(asked, now), config, now));
    if (random.below(4) > 0) host.finish_all(now);
    own.on_computed(blocks, now);
    host.finish_all(now);
  }
  return records;
}

TEST(DecisionLog, ReadsBackWhatItWrote) {
  const std::vector<DecisionRecord> records = real_decisions(log_policy());
  std::size_t loads = 0;
  std::size_t recomputed = 0;
  for (const DecisionRecord& record : records) {
    const std::string line = to_line(record);
    const auto back = parse_decision(line, "log:1");
    ASSERT_TRUE(back) << line << "\n" << back.error().message();
    EXPECT_EQ(to_line(*back), line);
    EXPECT_EQ(back->reason.chosen, record.reason.chosen) << line;
    EXPECT_EQ(back->alternatives.size(), record.alternatives.size());
    loads += record.reason.choice == Choice::load ? 1U : 0U;
    recomputed += record.reason.choice == Choice::recompute ? 1U : 0U;
  }
  EXPECT_GT(loads, 20U) << "the test saw decisions worth logging";
  EXPECT_GT(recomputed, 2U);
}

TEST(DecisionLog, DecidesAgainAsItDecided) {
  for (const DecisionRecord& record : real_decisions(log_policy())) {
    const auto back = parse_decision(to_line(record), "log:1");
    ASSERT_TRUE(back);
    EXPECT_EQ(to_line(decide_again(*back, back->rule)), to_line(record));
  }
}

TEST(DecisionLog, NoticesADecisionThatWasNotTakenByItsRule) {
  std::size_t noticed = 0;
  for (const DecisionRecord& record : real_decisions(log_policy())) {
    Rule none = record.rule;
    none.strategy = Strategy::none;
    const DecisionRecord again = decide_again(record, none);
    if (record.reason.choice == Choice::load) {
      EXPECT_EQ(again.reason.choice, Choice::recompute);
      ++noticed;
    }
  }
  EXPECT_GT(noticed, 20U);
}

TEST(DecisionLog, PricesADecisionAnewForAnotherMachine) {
  const PolicyConfig config = log_policy();
  MachineProfile slower = machine();
  for (TierProfile& tier : slower.tiers) {
    tier.read = Measured<BytesPerSecond>::exact(tier.read.value / 1000, Verdict::good);
  }
  std::size_t loads = 0;
  for (const DecisionRecord& record : real_decisions(config)) {
    if (record.reason.choice != Choice::load || record.reason.lead > Seconds(0)) continue;
    ++loads;
    const auto same = decide_again(record, config, machine());
    const auto slow = decide_again(record, config, slower);
    ASSERT_TRUE(same && slow);
    EXPECT_EQ(same->reason.choice, Choice::load);
    EXPECT_EQ(slow->reason.choice, Choice::recompute) << to_line(*slow);
    EXPECT_EQ(to_line(*same), to_line(record)) << "the same machine, idle then as now";
  }
  EXPECT_GT(loads, 10U);
}

TEST(DecisionLog, RefusesBrokenLinesAndSaysWhatIsBroken) {
  std::string good;
  for (const DecisionRecord& record : real_decisions(log_policy())) {
    if (record.reason.choice == Choice::load) good = to_line(record);
  }
  ASSERT_TRUE(parse_decision(good, "log:9"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto cut = parse_decision(good.substr(0, size), "log:9");
    if (cut) {  // a cut within the last number leaves a line that is whole
      EXPECT_GT(size, good.rfind(':'));
      continue;
    }
    EXPECT_EQ(cut.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(cut.error().where, "log:9");
    EXPECT_FALSE(cut.error().detail.empty());
  }
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string line = good;
    line.replace(line.find(from), from.size(), to);
    return parse_decision(line, "log:9");
  };
  EXPECT_FALSE(with("LOAD", "GUESS"));
  EXPECT_FALSE(with(" > pay", " <= pay")) << "the sign must agree with the numbers";
  EXPECT_FALSE(with("save ", "save -"));
  EXPECT_FALSE(with("save ", "save nan"));
  EXPECT_FALSE(with("rule=break_even", "rule=luck"));
  EXPECT_FALSE(with(" k=", " k=1"));
  EXPECT_FALSE(with("pfx=", "pfx=g"));
  EXPECT_FALSE(with(" alt ", " alt 5:"));
}

}  // namespace
}  // namespace fulcrum::testing
