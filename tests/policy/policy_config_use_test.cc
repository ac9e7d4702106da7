// Policies in use: the effective text, and contradictions with a profile.
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"
#include "policy_texts.h"

namespace fulcrum {
namespace {

using namespace policy_texts;

std::string without_comments(const std::string& text) {
  std::string out;
  for (const std::string& line : lines_of(text)) out += line.substr(0, line.find("  # ")) + "\n";
  return out;
}

const char* const kOddPaths[] = {"/mnt/a", "a b, [c]: {#} \"'\\", "-", "../x", "none"};

EnginePolicy random_engine(Random& random) {
  EnginePolicy engine;
  engine.staging = Bytes(static_cast<std::int64_t>((1U << 20) + random.below(std::uint64_t{1} << 45)));
  engine.deadline = Seconds(0.001 + 3000 * random.uniform());
  engine.copy_threads = static_cast<int>(1 + random.below(64));
  engine.shared_memory = random.below(2) == 0;
  engine.huge_pages = static_cast<EnginePolicy::HugePages>(random.below(3));
  engine.numa_node = static_cast<int>(random.below(1025)) - 1;
  engine.limbo =
      Bytes(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(engine.staging.value()))));
  engine.replace_foreign = random.below(2) == 0;
  return engine;
}

TEST(EffectivePolicy, ReadsBackAsTheSamePolicy) {
  Random random(3);
  const Strategy strategies[] = {Strategy::break_even, Strategy::load_always, Strategy::threshold,
                                 Strategy::none};
  for (int round = 0; round < 200; ++round) {
    PolicyConfig policy;
    policy.strategy = strategies[random.below(4)];
    policy.block_tokens = Tokens(1 + static_cast<std::int64_t>(random.below(65536)));
    for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
      const Bytes capacity(static_cast<std::int64_t>((1U << 20) + random.below(std::uint64_t{1} << 50)));
      TierPolicy tier;
      tier.name = "tier" + std::to_string(i);
      tier.profile = "true" + std::to_string(i);
      tier.capacity = capacity;
      if (random.below(2) == 0) tier.write_limit = BytesPerSecond(1 + 1e10 * random.uniform());
      if (random.below(2) == 0) tier.write_limit_per_day = capacity;
      for (std::uint64_t n = random.below(3); n > 0; --n) {
        tier.paths.push_back(kOddPaths[random.below(std::size(kOddPaths))] + std::to_string(i * 10 + n));
      }
      tier.gate = static_cast<int>(random.below(1025));
      policy.tiers.push_back(tier);
    }
    if (policy.strategy == Strategy::threshold)
      policy.threshold_tokens = Tokens(static_cast<std::int64_t>(random.below(1000)));
    policy.load_quantile = 0.5 + 0.499 * random.uniform();
    policy.compute_quantile = 0.001 + 0.499 * random.uniform();
    policy.margin = Seconds(random.uniform());
    policy.preload = random.below(2) == 0;
    policy.reuse_prior = random.uniform();
    policy.reuse_half_life = Seconds(1e-3 + random.exponential() * 1000);
    policy.gpu_price = random.below(2) == 0 ? 0 : 0.001 + random.uniform();
    policy.engine = random_engine(random);
    const auto back = PolicyConfig::parse(policy.to_yaml(), "p.yaml");
    ASSERT_TRUE(back) << back.error().message() << "\n" << policy.to_yaml();
    EXPECT_EQ(without_comments(back->to_yaml()), without_comments(policy.to_yaml())) << "round " << round;
    ASSERT_EQ(back->tiers.size(), policy.tiers.size());
    for (std::size_t i = 0; i < policy.tiers.size(); ++i) {
      EXPECT_EQ(back->tiers[i].paths, policy.tiers[i].paths);
      EXPECT_EQ(back->tiers[i].write_limit_per_day, policy.tiers[i].write_limit_per_day);
    }
    EXPECT_EQ(back->engine.numa_node, policy.engine.numa_node);
    EXPECT_EQ(back->engine.limbo, policy.engine.limbo);
    EXPECT_EQ(back->reuse_half_life, policy.reuse_half_life);
  }
}

TEST(EffectivePolicy, SaysWhereEachValueCameFrom) {
  const PolicyConfig policy = parsed(
      "version: 1\ntiers:\n  - name: dram\n    capacity: 1 GiB\nreuse:\n  prior: 0.1\nengine:\n  "
      "foreign: replace\n");
  const std::string text = policy.to_yaml();
  EXPECT_NE(text.find("capacity: 1 GiB  # p.yaml:4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("prior: 0.1  # p.yaml:6\n"), std::string::npos) << text;
  EXPECT_NE(text.find("half_life: 120 s  # default\n"), std::string::npos) << text;
  EXPECT_NE(text.find("profile: dram  # default\n"), std::string::npos) << text;
  EXPECT_NE(text.find("write_limit_per_day: none  # default\n"), std::string::npos) << text;
  EXPECT_NE(text.find("foreign: replace  # p.yaml:8\n"), std::string::npos) << text;
  EXPECT_NE(text.find("limbo: 256 MiB  # default\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("path"), std::string::npos) << "a tier without one shows none\n" << text;
  for (const std::string& line : lines_of(text)) {
    const bool heading = line.ends_with(":") || line.starts_with("version");
    EXPECT_TRUE(heading || line.find("  # ") != std::string::npos) << line;
  }
}

TEST(EffectivePolicy, AnOddFileNameCannotBreakOutOfItsComment) {
  const auto policy = PolicyConfig::parse("version: 1\nstrategy: none\n", "a\nstrategy: load_always\n.yaml");
  ASSERT_TRUE(policy);
  const auto back = PolicyConfig::parse(policy->to_yaml(), "p.yaml");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->strategy, Strategy::none);
}

TEST(PolicyAndProfile, TheExamplesFitTheExampleMachine) {
  for (const char* name : {"dram.yaml", "dram_nvme.yaml", "dram_nvme_hdd.yaml", "nvme.yaml"}) {
    const auto policy = PolicyConfig::load(kConfigs + name);
    ASSERT_TRUE(policy) << policy.error().message();
    EXPECT_EQ(contradictions(*policy, example()), "") << name;
    EXPECT_TRUE(policy->too_large_for(example()).empty()) << name;
  }
}

TEST(PolicyAndProfile, AnUnknownTierIsNamedWithTheNearestOne) {
  const auto policy =
      parsed("version: 1\ntiers:\n  - {name: dram, capacity: 1 GiB}\n  - {name: nvmee, capacity: 1 GiB}\n");
  const std::string said = contradictions(policy, example());
  EXPECT_EQ(said.find("p.yaml:4: tiers[1].profile: the profile has no tier 'nvmee'"), 0U) << said;
  EXPECT_NE(said.find("did you mean 'nvme'?"), std::string::npos) << said;
  EXPECT_NE(said.find("dram, nvme, hdd"), std::string::npos) << said;
}

TEST(PolicyAndProfile, AWritePathToAnHddWithoutDramIsRefusedAndSaysWhy) {
  const auto direct = parsed("version: 1\ntiers: [{name: hdd, capacity: 1 TiB}]\n");
  EXPECT_NE(contradictions(direct, example()).find("0.7 GB/s"), std::string::npos);
  const auto flash_first =
      parsed("version: 1\ntiers: [{name: nvme, capacity: 1 TiB}, {name: hdd, capacity: 1 TiB}]\n");
  EXPECT_NE(contradictions(flash_first, example()).find("put a dram tier first"), std::string::npos);
  const auto good =
      parsed("version: 1\ntiers: [{name: dram, capacity: 1 GiB}, {name: hdd, capacity: 1 TiB}]\n");
  EXPECT_EQ(contradictions(good, example()), "");
}

TEST(PolicyAndProfile, TheFastestTierComesFirst) {
  const auto wrong =
      parsed("version: 1\ntiers:\n  - {name: nvme, capacity: 1 GiB}\n  - {name: dram, capacity: 1 GiB}\n");
  EXPECT_NE(contradictions(wrong, example()).find("list the fastest tier first"), std::string::npos);
  MachineProfile close = example();
  close.tiers[1].read.high = 60_GBps;  // overlaps dram's interval: nobody can say which is faster
  EXPECT_EQ(contradictions(wrong, close), "");
}

TEST(PolicyAndProfile, BreakEvenNeedsPrefillCostsAndTheBaselinesDoNot) {
  MachineProfile bare = example();
  bare.prefill.reset();
  const std::string tiers = "tiers: [{name: dram, capacity: 1 GiB}]\n";
  EXPECT_NE(contradictions(parsed("version: 1\n" + tiers), bare).find("prefill"), std::string::npos);
  EXPECT_EQ(contradictions(parsed("version: 1\nstrategy: load_always\n" + tiers), bare), "");
}

TEST(PolicyAndProfile, ATierThatWasNotMeasuredIsRefused) {
  MachineProfile profile = example();
  profile.tiers[0].verdict = Verdict::invalid;
  const auto policy = parsed("version: 1\ntiers: [{name: dram, capacity: 1 GiB}]\n");
  EXPECT_NE(contradictions(policy, profile).find("calibrate it again"), std::string::npos);
}

TEST(PolicyAndProfile, EveryTierMustHoldABlock) {
  const auto policy = parsed("version: 1\nblock_tokens: 65536\ntiers: [{name: dram, capacity: 1 GiB}]\n");
  const std::string said = contradictions(policy, example());
  EXPECT_NE(said.find("p.yaml:3: tiers[0].capacity: 1 GiB holds less than one block of 8 GiB"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("preload.staging"), std::string::npos) << said;
}

TEST(PolicyAndProfile, AWriteLimitMustLetABlockThrough) {
  const std::string tier =
      "version: 1\ntiers:\n  - {name: dram, capacity: 1 GiB}\n  - {name: nvme, capacity: 1 TiB, ";
  // A block is 64 MiB: a minute of 1.12 MB/s, a tenth of 640 MiB.
  const std::string slow = contradictions(parsed(tier + "write_limit: 1.1 MB/s}\n"), example());
  EXPECT_EQ(slow.find("p.yaml:4: tiers[1].write_limit: 1.1 MB/s never lets a block of 64 MiB through"), 0U)
      << slow;
  EXPECT_EQ(contradictions(parsed(tier + "write_limit: 1.2 MB/s}\n"), example()), "");
  const std::string little = contradictions(parsed(tier + "write_limit_per_day: 639 MiB}\n"), example());
  EXPECT_EQ(little.find("p.yaml:4: tiers[1].write_limit_per_day: 639 MiB never lets a block"), 0U) << little;
  EXPECT_EQ(contradictions(parsed(tier + "write_limit_per_day: 640 MiB}\n"), example()), "");
}

TEST(PolicyAndProfile, HostMemoryHasNoDirectory) {
  const auto policy = parsed("version: 1\ntiers: [{name: dram, capacity: 1 GiB, path: /mnt/a}]\n");
  const std::string said = contradictions(policy, example());
  EXPECT_EQ(said.find("p.yaml:2: tiers[0].path: 'dram' is host memory"), 0U) << said;
}

TEST(PolicyAndProfile, StagingMustHoldABlockToRunAndNotToSimulate) {
  const auto policy =
      parsed("version: 1\nengine: {staging: 63 MiB}\ntiers: [{name: dram, capacity: 1 GiB}]\n");
  EXPECT_EQ(contradictions(policy, example()), "");
  const auto said = policy.too_large_for(example());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].find("p.yaml:2: engine.staging: 63 MiB holds less than one block of 64 MiB"), 0U)
      << said[0];
}

TEST(PolicyAndProfile, WhatTheMachineCannotHoldIsSaidApart) {
  const auto policy = parsed(
      "version: 1\npreload: {staging: 512 GiB}\ntiers:\n  - {name: dram, capacity: 1000 GiB}\n  - {name: "
      "nvme, capacity: 4 TiB}\n");
  EXPECT_EQ(contradictions(policy, example()), "") << "a simulation may have a larger machine";
  const auto too_large = policy.too_large_for(example());
  ASSERT_EQ(too_large.size(), 2U);
  EXPECT_NE(too_large[0].find("tiers[1].capacity"), std::string::npos) << too_large[0];
  EXPECT_NE(too_large[1].find("1.48 TiB"), std::string::npos) << too_large[1];
}

}  // namespace
}  // namespace fulcrum
