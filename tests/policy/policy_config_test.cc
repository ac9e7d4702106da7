// Policies: defaults, every kind of mistake in every key, contradictions with a profile, the effective text.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/random.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"

namespace fulcrum {
namespace {

const std::string kConfigs = std::string(FULCRUM_SOURCE_DIR) + "/configs/";

MachineProfile example() {
  return MachineProfile::load(kConfigs + "profiles/example.yaml").value();
}

PolicyConfig parsed(const std::string& text) {
  return PolicyConfig::parse(text, "p.yaml").value();
}

/// What is wrong with a text, or nothing.
std::string problems(const std::string& text) {
  const auto result = PolicyConfig::parse(text, "p.yaml");
  if (result) return "";
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input) << result.error().message();
  return result.error().detail;
}

std::string contradictions(const PolicyConfig& policy, const MachineProfile& profile) {
  const auto result = policy.check_against(profile);
  if (result) return "";
  EXPECT_EQ(result.error().kind, ErrorKind::mismatch);
  return result.error().detail;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Every key of the language, one a line, so that a test can spoil one at a time.
const std::vector<std::string> kFull = {
    "version: 1",
    "strategy: threshold",
    "block_tokens: 256",
    "tiers:",
    "  - name: dram",
    "    profile: host",
    "    capacity: 64 GiB",
    "    write_limit: 10 GB/s",
    "    gate: 4",
    "threshold_tokens: 1024",
    "risk:",
    "  load_quantile: 0.9",
    "  compute_quantile: 0.1",
    "  stop_loss: 1.5",
    "  margin: 2 ms",
    "preload:",
    "  enabled: true",
    "  staging: 2 GiB",
    "reuse:",
    "  prior: 0.25",
    "  half_life: 5 min",
    "gpu_price: 4",
};

struct Spoil {
  const char* key;
  const char* below;  ///< a value under the range
  const char* above;  ///< a value over the range
  const char* unit;   ///< a value with another unit, or a unit where none belongs
  const char* type;   ///< a value of another type
};

const Spoil kSpoils[] = {
    {"strategy", nullptr, nullptr, "5 ms", "[break_even]"},
    {"block_tokens", "0", "65537", "256 B", "many"},
    {"name", "\"\"", nullptr, "\"a b\"", "[a]"},
    {"profile", nullptr, nullptr, "12", "{a: b}"},
    {"capacity", "0 B", "4096 PiB", "64 ms", "large"},
    {"write_limit", "0 B/s", "1e9 PB/s", "10 GB", "[1]"},
    {"gate", "0", "1025", "4 KiB", "open"},
    {"threshold_tokens", "-1", "99999999999", "1 KiB", "\"1024\""},
    {"load_quantile", "0.49", "1", "90 ms", "high"},
    {"compute_quantile", "0", "0.51", "10 us", "[0.1]"},
    {"stop_loss", "0.01", "11", "1 s", "true"},
    {"margin", "-1 ms", "2 min", "2 MB", "2"},
    {"enabled", nullptr, nullptr, "1 s", "yes"},
    {"staging", "-1 B", "4096 PiB", "2 GB/s", "4"},
    {"prior", "-0.1", "1.1", "1 h", "nan"},
    {"half_life", "0 s", "400 d", "5 GiB", "300"},
    {"gpu_price", "0", "1001", "4 s", "cheap"},
};

std::size_t line_of(const std::string& key) {
  for (std::size_t i = 0; i < kFull.size(); ++i) {
    const std::size_t at = kFull[i].find(key + ":");
    if (at != std::string::npos && (at == 0 || kFull[i][at - 1] == ' ')) return i;
  }
  ADD_FAILURE() << key << " is not in the full policy";
  return 0;
}

std::string place(std::size_t line, std::size_t column) {
  return "p.yaml:" + std::to_string(line + 1) + ":" + std::to_string(column + 1) + ": ";
}

TEST(PolicyFile, TheFullLanguageIsRead) {
  const PolicyConfig policy = parsed(joined(kFull));
  EXPECT_EQ(policy.strategy, Strategy::threshold);
  EXPECT_EQ(policy.block_tokens, 256_tok);
  ASSERT_EQ(policy.tiers.size(), 1U);
  EXPECT_EQ(policy.tiers[0].name, "dram");
  EXPECT_EQ(policy.tiers[0].profile, "host");
  EXPECT_EQ(policy.tiers[0].capacity, 64_GiB);
  EXPECT_EQ(policy.tiers[0].write_limit, 10_GBps);
  EXPECT_EQ(policy.tiers[0].gate, 4);
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
}

TEST(PolicyFile, WhatIsLeftOutTakesTheDocumentedDefault) {
  const PolicyConfig policy = parsed("version: 1\ntiers: [{name: dram, capacity: 1 GiB}]\n");
  PolicyConfig defaults;
  defaults.tiers = {{"dram", "dram", 1_GiB, std::nullopt, 0}};
  PolicyConfig bare = policy;
  bare.origins.clear();
  EXPECT_EQ(bare.to_yaml(), defaults.to_yaml());
}

TEST(PolicyFile, AWrongValueInAnyKeyIsReportedAtItsPlace) {
  for (const Spoil& spoil : kSpoils) {
    const std::size_t line = line_of(spoil.key);
    const std::size_t value_at = kFull[line].find(": ") + 2;
    for (const char* value : {spoil.below, spoil.above, spoil.unit, spoil.type}) {
      if (value == nullptr) continue;
      std::vector<std::string> lines = kFull;
      lines[line] = lines[line].substr(0, value_at) + value;
      const std::string said = problems(joined(lines));
      EXPECT_NE(said.find(place(line, value_at)), std::string::npos) << lines[line] << " -> " << said;
      EXPECT_NE(said.find(spoil.key), std::string::npos) << lines[line] << " -> " << said;
    }
  }
}

TEST(PolicyFile, AMisspeltKeyIsReportedWithTheRightOne) {
  for (const Spoil& spoil : kSpoils) {
    const std::size_t line = line_of(spoil.key);
    const std::size_t at = kFull[line].find(spoil.key);
    std::vector<std::string> lines = kFull;
    lines[line].erase(at + 2, 1);
    const std::string said = problems(joined(lines));
    EXPECT_NE(said.find(place(line, at) + "unknown key"), std::string::npos) << lines[line] << " -> " << said;
    EXPECT_NE(said.find("did you mean '" + std::string(spoil.key) + "'?"), std::string::npos) << said;
  }
}

TEST(PolicyFile, ADuplicateKeyIsReportedAtTheSecondOne) {
  for (const Spoil& spoil : kSpoils) {
    const std::size_t line = line_of(spoil.key);
    const std::size_t at = kFull[line].find(spoil.key);
    std::vector<std::string> lines = kFull;
    const std::string copy = std::string(at, ' ') + lines[line].substr(at);
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line) + 1, copy);
    const std::string said = problems(joined(lines));
    const std::string expected = place(line + 1, at) + "duplicate key";
    EXPECT_NE(said.find(expected), std::string::npos) << copy << " -> " << said;
    EXPECT_NE(said.find("first given on line " + std::to_string(line + 1)), std::string::npos) << said;
  }
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

std::string without_comments(const std::string& text) {
  std::string out;
  for (const std::string& line : lines_of(text)) out += line.substr(0, line.find("  # ")) + "\n";
  return out;
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
      TierPolicy tier{"tier" + std::to_string(i), "true" + std::to_string(i), capacity, std::nullopt, 0};
      if (random.below(2) == 0) tier.write_limit = BytesPerSecond(1 + 1e10 * random.uniform());
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
    const auto back = PolicyConfig::parse(policy.to_yaml(), "p.yaml");
    ASSERT_TRUE(back) << back.error().message() << "\n" << policy.to_yaml();
    EXPECT_EQ(without_comments(back->to_yaml()), without_comments(policy.to_yaml())) << "round " << round;
    EXPECT_EQ(back->tiers.size(), policy.tiers.size());
    EXPECT_EQ(back->reuse_half_life, policy.reuse_half_life);
  }
}

TEST(EffectivePolicy, SaysWhereEachValueCameFrom) {
  const PolicyConfig policy =
      parsed("version: 1\ntiers:\n  - name: dram\n    capacity: 1 GiB\nreuse:\n  prior: 0.1\n");
  const std::string text = policy.to_yaml();
  EXPECT_NE(text.find("capacity: 1 GiB  # p.yaml:4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("prior: 0.1  # p.yaml:6\n"), std::string::npos) << text;
  EXPECT_NE(text.find("half_life: 120 s  # default\n"), std::string::npos) << text;
  EXPECT_NE(text.find("profile: dram  # default\n"), std::string::npos) << text;
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
  for (const char* name : {"dram.yaml", "dram_nvme.yaml", "dram_nvme_hdd.yaml"}) {
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
