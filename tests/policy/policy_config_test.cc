// The language of policies: every key, its default, contradictions, what cannot be read at all.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/random.h"
#include "fulcrum/policy.h"
#include "policy_texts.h"

namespace fulcrum {
namespace {

using namespace policy_texts;

TEST(PolicyFile, TheFullLanguageIsRead) {
  const PolicyConfig policy = parsed(joined(kFull));
  EXPECT_EQ(policy.strategy, Strategy::threshold);
  EXPECT_EQ(policy.block_tokens, 256_tok);
  ASSERT_EQ(policy.tiers.size(), 2U);
  EXPECT_EQ(policy.tiers[0].name, "dram");
  EXPECT_EQ(policy.tiers[0].profile, "host");
  EXPECT_EQ(policy.tiers[0].capacity, 64_GiB);
  EXPECT_EQ(policy.tiers[0].write_limit, 10_GBps);
  EXPECT_EQ(policy.tiers[0].write_limit_per_day, Bytes(2'000'000'000'000));
  EXPECT_EQ(policy.tiers[0].gate, 4);
  EXPECT_EQ(policy.tiers[0].paths, (std::vector<std::string>{"/mnt/a"}));
  EXPECT_EQ(policy.tiers[1].paths, (std::vector<std::string>{"/mnt/b", "/mnt/c"}));
  EXPECT_EQ(policy.threshold_tokens, 1024_tok);
  EXPECT_EQ(policy.load_quantile, 0.9);
  EXPECT_EQ(policy.compute_quantile, 0.1);
  EXPECT_EQ(policy.stop_loss, 1.5);
  EXPECT_EQ(policy.margin, 2_ms);
  EXPECT_TRUE(policy.preload);
  EXPECT_EQ(policy.preload_staging, 2_GiB);
  EXPECT_EQ(policy.reuse_prior, 0.25);
  EXPECT_EQ(policy.reuse_half_life, 300_s);
  EXPECT_EQ(policy.gpu_price, 4);
  EXPECT_EQ(policy.engine.staging, 3_GiB);
  EXPECT_EQ(policy.engine.deadline, 20_s);
  EXPECT_EQ(policy.engine.copy_threads, 6);
  EXPECT_TRUE(policy.engine.shared_memory);
  EXPECT_EQ(policy.engine.huge_pages, EnginePolicy::HugePages::always);
  EXPECT_EQ(policy.engine.numa_node, 1);
  EXPECT_EQ(policy.engine.limbo, 512_MiB);
  EXPECT_TRUE(policy.engine.replace_foreign);
}

TEST(PolicyFile, WhatIsLeftOutTakesTheDocumentedDefault) {
  const PolicyConfig policy = parsed("version: 1\ntiers: [{name: dram, capacity: 1 GiB}]\n");
  PolicyConfig defaults;
  defaults.tiers.resize(1);
  defaults.tiers[0].name = defaults.tiers[0].profile = "dram";
  defaults.tiers[0].capacity = 1_GiB;
  PolicyConfig bare = policy;
  bare.origins.clear();
  EXPECT_EQ(bare.to_yaml(), defaults.to_yaml());
}

TEST(PolicyFile, ByDefaultADeviceMayKeepAQuarterOfTheStaging) {
  const std::string tiers = "version: 1\ntiers: [{name: dram, capacity: 1 GiB}]\n";
  EXPECT_EQ(parsed(tiers + "engine: {staging: 6 GiB}\n").engine.limbo, 1536_MiB);
  EXPECT_EQ(parsed(tiers).engine.limbo, EnginePolicy{}.limbo);
  EXPECT_EQ(EnginePolicy{}.limbo, EnginePolicy{}.staging / 4);
  EXPECT_EQ(parsed(tiers + "engine: {numa_node: auto}\n").engine.numa_node, -1);
  EXPECT_EQ(parsed(tiers + "engine: {numa_node: 0}\n").engine.numa_node, 0);
}

TEST(PolicyFile, AllMistakesComeAtOnceAndInOrder) {
  const std::string said = problems(
      "version: 1\nstrategy: break_evn\nblock_tokens: 0\ntiers:\n  - name: dram\n    capacty: 1 GiB\n"
      "risk: {load_quantile: 2}\npreload: {staging: 3}\n");
  std::size_t at = 0;
  for (const char* expected :
       {"p.yaml:2:11: ", "p.yaml:3:15: ", "p.yaml:5:5: missing key 'tiers[0].capacity'",
        "p.yaml:6:5: unknown key 'tiers[0].capacty'", "p.yaml:7:23: ", "p.yaml:8:20: "}) {
    const std::size_t found = said.find(expected, at);
    ASSERT_NE(found, std::string::npos) << expected << " is not in order in\n" << said;
    at = found;
  }
}

TEST(PolicyFile, ContradictionsAreReportedAtTheirPlace) {
  struct Case {
    const char* text;
    const char* said;
  };
  const Case cases[] = {
      {"version: 1\ntiers: []\n", "p.yaml:2:8: 'tiers' is empty"},
      {"version: 1\n", "missing key 'tiers'"},
      {"tiers: [{name: a, capacity: 1 GiB}]\n", "missing key 'version'"},
      {"version: 1\nthreshold_tokens: 5\ntiers: [{name: a, capacity: 1 GiB}]\n",
       "p.yaml:2:19: 'threshold_tokens' belongs to strategy 'threshold'"},
      {"version: 1\nstrategy: threshold\ntiers: [{name: a, capacity: 1 GiB}]\n",
       "missing key 'threshold_tokens'"},
      {"version: 1\ntiers:\n  - {name: a, capacity: 1 GiB}\n  - {name: a, capacity: 1 GiB}\n",
       "p.yaml:4:12: 'tiers[1].name' names a second tier 'a'"},
      {"version: 1\ntiers:\n  - {name: a, capacity: 1 GiB}\n  - {name: b, profile: a, capacity: 1 GiB}\n",
       "p.yaml:4:24: 'tiers[1].profile' 'a' is used by tier 'a' already"},
      {"version: 1\npreload: {enabled: true, staging: 0 B}\ntiers: [{name: a, capacity: 1 GiB}]\n",
       "p.yaml:2:35: 'preload.staging' is 0 while preload is enabled"},
      {"version: 1\ntiers:\n  - {name: a, capacity: 1 GiB, path: /x, paths: [/y]}\n",
       "p.yaml:3:49: 'tiers[0].paths' is given beside 'path'"},
      {"version: 1\ntiers:\n  - {name: a, capacity: 1 GiB, paths: [/x, /y/../x/]}\n",
       "p.yaml:3:39: 'tiers[0].paths' names '/y/../x/' twice"},
      {"version: 1\ntiers:\n  - {name: a, capacity: 1 GiB, path: /x}\n  - {name: b, capacity: 1 GiB, path: "
       "/x/}\n",
       "p.yaml:4:38: 'tiers[1].path' '/x/' is used by tier 'a' already"},
      {"version: 1\ntiers:\n  - {name: a, capacity: 1 GiB, path: \"/x\\0\"}\n",
       "p.yaml:3:38: 'tiers[0].path' may not hold control characters"},
      {"version: 1\nengine: {staging: 1 GiB, limbo: 1 GiB}\ntiers: [{name: a, capacity: 1 GiB}]\n",
       "p.yaml:2:33: 'engine.limbo' leaves nothing of the staging"},
  };
  for (const Case& one : cases) {
    EXPECT_NE(problems(one.text).find(one.said), std::string::npos)
        << one.text << " -> " << problems(one.text);
  }
  EXPECT_EQ(problems("version: 1\nstrategy: none\n"), "") << "a policy that keeps nothing needs no tier";
  EXPECT_EQ(
      problems("version: 1\npreload: {enabled: false, staging: 0 B}\ntiers: [{name: a, capacity: 1 GiB}]\n"),
      "");
}

TEST(PolicyFile, OfAnotherVersionIsAMismatch) {
  const auto result = PolicyConfig::parse("version: 2\nnew_key: 1\n", "p.yaml");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::mismatch);
  EXPECT_NE(result.error().message().find("version 2"), std::string::npos);
}

TEST(PolicyFile, ThatIsMissingOrADirectoryIsNamed) {
  EXPECT_EQ(PolicyConfig::load("/nowhere/p.yaml").error().kind, ErrorKind::not_found);
  EXPECT_EQ(PolicyConfig::load("/tmp").error().kind, ErrorKind::bad_input);
}

TEST(PolicyFile, MutatedExamplesGiveAPolicyOrPlacesAndNeverACrash) {
  constexpr std::uint64_t kSeed = 4;
  Random random(kSeed);
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string good = read_file(entry.path()).value();
    for (int round = 0; round < 400; ++round) {
      std::string text = good;
      for (std::uint64_t edits = 1 + random.below(5); edits > 0; --edits) {
        const auto at = static_cast<std::size_t>(random.below(text.size()));
        switch (random.below(4)) {
          case 0:
            text.erase(at, random.below(12));
            break;
          case 1:
            text.insert(at, text.substr(random.below(text.size()), random.below(12)));
            break;
          case 2:
            text[at] = static_cast<char>(random.below(256));
            break;
          default:
            text.insert(at, std::string(1, "{}[]:,&*#\"'|>-\n\t"[random.below(16)]));
            break;
        }
      }
      const auto result = PolicyConfig::parse(text, "p.yaml");
      if (result) {
        EXPECT_TRUE(PolicyConfig::parse(result->to_yaml(), "again")) << "seed " << kSeed << ":\n" << text;
        continue;
      }
      ++refused;
      const Error& error = result.error();
      const bool placed = error.detail.find("p.yaml:") == 0 || error.kind == ErrorKind::mismatch;
      EXPECT_TRUE(placed) << "seed " << kSeed << ": " << error.message() << "\n" << text;
    }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace fulcrum
