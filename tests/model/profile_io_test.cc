// Machine profiles as files: exact round trip, strict load, detection of edits and of other machines.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "base/atomic_file.h"
#include "base/document.h"
#include "base/random.h"
#include "fulcrum/profile.h"
#include "tests/model/example_profile.h"
#include "tests/support/scratch.h"

namespace fulcrum {
namespace {

const std::string kExample = std::string(FULCRUM_SOURCE_DIR) + "/configs/profiles/example.yaml";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in the text";
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The profile without its checksum line, so that edits reach the reader.
std::string editable(const MachineProfile& profile) {
  const std::string text = profile.to_yaml();
  const std::size_t at = text.find("checksum:");
  return text.substr(0, at) + text.substr(text.find('\n', at) + 1);
}

std::string message_of(const Result<MachineProfile>& result) {
  return result ? std::string("accepted") : result.error().message();
}

/// A profile full of awkward values: long fractions, big seeds, odd text.
MachineProfile random_profile(Random& random) {
  MachineProfile out = test::example_profile();
  out.provenance.seed = random.next();
  out.provenance.command = "calibrate --path '/mnt/a: b#\"c\\d'\t--x\n";
  out.provenance.cpu = "true";
  out.findings = {"", "- dash", "{brace}", "1.5"};
  for (TierProfile& tier : out.tiers) {
    tier.device = {"/mnt/x y", "xfs", "nvme0n1", "007", "null", "[none] mq-deadline"};
    tier.device.firmware = "1.0: \"beta\"";
    tier.device.pcie = {4, 1.0 / 3, 16, 32};
    tier.device.numa_node = 1;
    tier.heat = Heat{-3.5, 1.0 / 3, 71.25, random.uniform() < 0.5 ? std::optional(85.0) : std::nullopt};
    tier.far_node_penalty = Measured<double>{1.7, 1.5, 2.1, 10, Verdict::noisy};
    tier.read.value = BytesPerSecond(1e9 * (1 + random.uniform()));
    tier.read.low = BytesPerSecond(tier.read.value.value() / 3);
    tier.read.high = BytesPerSecond(tier.read.value.value() * (1 + random.uniform()) * 1.1);
    tier.k = {random.uniform() * 1e-7, 0, 1.0 / 3, 7, Verdict::noisy};
    tier.reads.push_back({1_MiB, 4, 2, tier.read, Seconds(random.uniform()), Seconds(1 + random.uniform())});
    tier.writes = tier.reads;
    tier.ramp = Sustained{tier.read, tier.write, Bytes(static_cast<std::int64_t>(random.below(1U << 30)))};
    if (random.uniform() < 0.5)
      tier.ramp->recovery = Recovery{1_GiB, {Seconds(1.5), Seconds(1), Seconds(1.5), 4, Verdict::good}};
  }
  for (auto& draw : out.prefill->cost.draws) draw[0] = random.exponential() * 1e-300;
  return out;
}

TEST(ProfileFile, ReadsBackExactlyWhatWasWritten) {
  Random random(20250101);
  for (int round = 0; round < 50; ++round) {
    const MachineProfile profile = random_profile(random);
    const std::string text = profile.to_yaml();
    const auto back = MachineProfile::parse(text, "m.yaml");
    ASSERT_TRUE(back) << message_of(back);
    EXPECT_EQ(back->to_yaml(), text);
    EXPECT_EQ(back->provenance.seed, profile.provenance.seed);
    EXPECT_EQ(back->provenance.command, profile.provenance.command);
    EXPECT_EQ(back->findings, profile.findings);
    EXPECT_EQ(back->prefill->cost.draws, profile.prefill->cost.draws);
    ASSERT_EQ(back->tiers.size(), profile.tiers.size());
    for (std::size_t i = 0; i < profile.tiers.size(); ++i) {
      EXPECT_EQ(back->tiers[i].read, profile.tiers[i].read);
      EXPECT_EQ(back->tiers[i].k, profile.tiers[i].k);
      EXPECT_EQ(back->tiers[i].device, profile.tiers[i].device);
      EXPECT_EQ(back->tiers[i].reads, profile.tiers[i].reads);
      EXPECT_EQ(back->tiers[i].ramp->burst_bytes, profile.tiers[i].ramp->burst_bytes);
      EXPECT_EQ(back->tiers[i].ramp->recovery, profile.tiers[i].ramp->recovery);
      EXPECT_EQ(back->tiers[i].heat, profile.tiers[i].heat);
      EXPECT_EQ(back->tiers[i].far_node_penalty, profile.tiers[i].far_node_penalty);
    }
  }
}

TEST(ProfileFile, WhatWasNotMeasuredIsNotInIt) {
  const std::string text = test::example_profile().to_yaml();
  for (const char* key : {"firmware", "pcie", "numa_node", "heat", "far_node_penalty", "recovery"})
    EXPECT_EQ(text.find(std::string(key) + ":"), std::string::npos) << key;
  const auto back = MachineProfile::parse(text, "m.yaml");
  ASSERT_TRUE(back) << message_of(back);
  EXPECT_EQ(back->tiers[1].heat, std::nullopt);
  EXPECT_EQ(back->tiers[1].device.numa_node, std::nullopt);
}

TEST(ProfileFile, SurvivesSaveAndLoad) {
  const std::string path = test::temp_path("profile.yaml");
  const MachineProfile profile = test::example_profile();
  ASSERT_TRUE(profile.save(path));
  const auto back = MachineProfile::load(path);
  ASSERT_TRUE(back) << message_of(back);
  EXPECT_EQ(back->to_yaml(), profile.to_yaml());
  std::filesystem::remove(path);
}

TEST(ProfileFile, AnEditInPlaceIsDetectedWhereverItFalls) {
  const std::string text = test::example_profile().to_yaml();
  const std::size_t body = text.find('\n', text.find("checksum:")) + 1;
  int detected = 0;
  for (std::size_t at = body; at < text.size(); at += 37) {
    std::string changed = text;
    if (changed[at] < '0' || changed[at] > '8') continue;
    ++changed[at];
    const auto result = MachineProfile::parse(changed, "m.yaml");
    ASSERT_FALSE(result) << "digit " << at << " changed unseen";
    EXPECT_EQ(result.error().kind, ErrorKind::corrupt);
    EXPECT_NE(message_of(result).find("remove the line that starts with 'checksum:'"), std::string::npos);
    ++detected;
  }
  EXPECT_GT(detected, 10);
}

TEST(ProfileFile, ATruncatedFileIsDetected) {
  const std::string text = test::example_profile().to_yaml();
  for (std::size_t size = text.find("provenance"); size < text.size(); size += 101) {
    EXPECT_FALSE(MachineProfile::parse(text.substr(0, size), "m.yaml")) << size;
  }
}

TEST(ProfileFile, WithoutItsChecksumIsAcceptedAndSaysSo) {
  const auto result = MachineProfile::parse(editable(test::example_profile()), "m.yaml");
  ASSERT_TRUE(result) << message_of(result);
  ASSERT_EQ(result->findings.size(), 1U);
  EXPECT_NE(result->findings[0].find("edited by hand"), std::string::npos);
  const auto again = MachineProfile::parse(editable(*result), "m.yaml");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->findings.size(), 1U) << "said once, not once a reading";
}

TEST(ProfileFile, OfAnotherSchemaIsAMismatchEvenIfNothingElseFits) {
  const std::string text = "schema: 99\nfuture: {anything: [1]}\n";
  const auto result = MachineProfile::parse(text, "m.yaml");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::mismatch);
  EXPECT_NE(message_of(result).find("99"), std::string::npos);
}

TEST(ProfileFile, ImpossibleNumbersAreNamedWithTheirPlace) {
  struct Edit {
    const char* from;
    const char* to;
    const char* said;
  };
  const Edit edits[] = {
      {"read_Bps: {value: 5.5e+10, low: 5e+10", "read_Bps: {value: 5.5e+10, low: 6e+10", "read_Bps.low"},
      {"read_Bps: {value: 5.5e+10", "read_Bps: {value: -1", "read_Bps.value"},
      {"read_Bps: {value: 5.5e+10", "read_Bps: {value: .nan", "read_Bps.value"},
      {"read_Bps: {value: 5.5e+10", "read_Bps: {value: inf", "read_Bps.value"},
      {"read_Bps: {value: 5.5e+10, low: 5e+10", "read_Bps: {value: 5.5e+10, low: 0", "read_Bps"},
      {"depth: 1", "depth: 0", "depth"},
      {"depth: 1", "depth: 1.5", "depth"},
      {"medium: flash", "medium: flsh", "did you mean 'flash'"},
      {"sigma: {value: 1", "sigma: {value: 1.5", "sigma.value"},
      {"theta: [0, ", "theta: [-1, ", "theta"},
      {"theta: [0, ", "theta: [", "theta"},
      {"- name: nvme", "- name: dram", "second tier 'dram'"},
      {"tile_tokens: 1", "tile_tokens: 0", "tile_tokens"},
      {"    medium: dram\n", "", "missing key 'tiers[0].medium'"},
      {"    medium: dram\n", "    medium: dram\n    medum: dram\n", "unknown key 'tiers[0].medum'"},
      {"    medium: dram\n", "    medium: dram\n    medium: dram\n", "duplicate key 'tiers[0].medium'"},
      {"seed: \"1\"", "seed: \"-1\"", "seed"},
      {"samples: 3", "samples: 99999999999", "samples"},
  };
  for (const Edit& edit : edits) {
    const auto result =
        MachineProfile::parse(replaced(editable(test::example_profile()), edit.from, edit.to), "m.yaml");
    ASSERT_FALSE(result) << edit.to;
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input) << edit.to;
    EXPECT_NE(message_of(result).find(edit.said), std::string::npos) << edit.to << ": " << message_of(result);
    EXPECT_NE(message_of(result).find("m.yaml:"), std::string::npos) << message_of(result);
  }
}

TEST(ProfileFile, ThatCouldNotBeReadBackIsNotWritten) {
  const std::string path = test::temp_path("never.yaml");
  MachineProfile profile = test::example_profile();
  profile.tiers[0].setup.value = Seconds(std::numeric_limits<double>::quiet_NaN());
  const auto saved = profile.save(path);
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message().find("setup_s.value"), std::string::npos) << saved.error().message();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ProfileFile, WithoutTiersOrPrefillIsStillAProfile) {
  MachineProfile profile = test::example_profile();
  profile.tiers.clear();
  profile.prefill.reset();
  const auto back = MachineProfile::parse(profile.to_yaml(), "m.yaml");
  ASSERT_TRUE(back) << message_of(back);
  EXPECT_TRUE(back->tiers.empty());
  EXPECT_FALSE(back->prefill);
}

TEST(ProfileFile, MutatedTextNeverCrashesTheReader) {
  constexpr std::uint64_t kSeed = 7;
  Random random(kSeed);
  const std::string good = editable(test::example_profile());
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(random.below(text.size()));
      const auto length = static_cast<std::size_t>(random.below(20));
      if (random.below(2) == 0) {
        text.erase(at, length);
      } else {
        text.insert(at, text.substr(static_cast<std::size_t>(random.below(text.size())), length));
      }
    }
    const auto result = MachineProfile::parse(text, "m.yaml");
    if (result) continue;
    ++refused;
    const bool placed = result.error().detail.find("m.yaml:") != std::string::npos;
    EXPECT_TRUE(placed || result.error().kind == ErrorKind::mismatch ||
                result.error().kind == ErrorKind::corrupt)
        << "seed " << kSeed << " round " << round << ": " << result.error().message();
  }
  EXPECT_GT(refused, 200);
}

TEST(Profile, TheSlowLawIsNeverFasterThanTheMeasuredOne) {
  for (const TierProfile& tier : test::example_profile().tiers) {
    for (const Bytes bytes : {1_MiB, 64_MiB, 4_GiB}) {
      for (const int others : {0, 1, 15}) {
        EXPECT_GE(tier.transfer_slow().time(bytes, others), tier.transfer().time(bytes, others)) << tier.name;
      }
    }
  }
}

TEST(Profile, FindsTiersByName) {
  const MachineProfile profile = test::example_profile();
  ASSERT_NE(profile.tier("nvme"), nullptr);
  EXPECT_EQ(profile.tier("nvme")->medium, Medium::flash);
  EXPECT_EQ(profile.tier("tape"), nullptr);
}

TEST(ExampleProfile, ReproducesThePublishedPrefillTimes) {
  const MachineProfile profile = test::example_profile();
  const PrefillCost& cost = profile.prefill->cost;
  EXPECT_NEAR(cost.time(4096_tok, 0_tok).value(), 0.120, 0.120 * 0.01);
  EXPECT_NEAR(cost.time(32768_tok, 0_tok).value(), 1.36, 1.36 * 0.01);
  EXPECT_NEAR(cost.time(65536_tok, 0_tok).value(), 3.65, 3.65 * 0.01);
}

TEST(ExampleProfile, IsTheFileInConfigs) {
  if (std::getenv("FULCRUM_WRITE_EXAMPLE") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    ASSERT_TRUE(write_file_atomically(kExample, test::example_profile_text()));
  }
  const auto text = read_file(kExample);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, test::example_profile_text())
      << "run this test with FULCRUM_WRITE_EXAMPLE=1 to write it anew";
  EXPECT_TRUE(MachineProfile::load(kExample));
}

}  // namespace
}  // namespace fulcrum
