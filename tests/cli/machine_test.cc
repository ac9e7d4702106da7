// A profile of another machine: refused by `check`, noted by calculations and simulations.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "fulcrum/profile.h"
#include "tests/cli/program.h"
#include "tests/support/scratch.h"
#include "tiers/file_device.h"
#include "tiers/machine_facts.h"

namespace fulcrum::test {
namespace {

const std::string kSource = FULCRUM_SOURCE_DIR;
const std::string kExample = kSource + "/configs/profiles/example.yaml";
const std::string kTrace = kSource + "/data/mooncake_conversation/conversation_cut.jsonl.zst";

class MachineOfAProfile : public testing::Test {
 protected:
  using Change = std::function<void(MachineProfile&)>;

  /// The example's figures under the names of this machine and of the scratch directory's drive, as a
  /// calibration writes them down.
  void SetUp() override {
    auto loaded = MachineProfile::load(kExample);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
    here_ = std::move(*loaded);
    const MachineFacts facts = machine_facts();
    here_.provenance.cpu = facts.cpu;
    here_.provenance.cores = facts.cores;
    here_.provenance.memory = facts.memory;
    here_.provenance.kernel = facts.kernel;
    here_.provenance.created_utc = utc_stamp();
    FileDeviceOptions options;
    options.size = 1_MiB;
    const std::string directory = std::filesystem::canonical(drive_.path()).string();
    const auto device = FileDevice::open(directory, options);
    ASSERT_TRUE(device.has_value()) << device.error().message();
    for (TierProfile& tier : here_.tiers) {
      if (tier.medium != Medium::dram) tier.device = (*device)->identity();
    }
  }

  /// Runs check on the profile, changed so that it is another machine's.
  Said check(const Change& change, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"check", "--profile", saved(change)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
  std::string saved(const Change& change) {
    MachineProfile profile = here_;
    change(profile);
    const auto done = profile.save(scratch_.path("m.yaml"));
    EXPECT_FALSE(done.has_error());
    return scratch_.path("m.yaml");
  }

  ScratchDirectory scratch_;
  ScratchDirectory drive_;
  MachineProfile here_;
};

TierProfile& drive_of(MachineProfile& profile) {
  return profile.tiers.back();
}

TEST_F(MachineOfAProfile, AProfileOfThisMachinePasses) {
  const Said said = check([](MachineProfile&) {});
  EXPECT_TRUE(says(said, 0, "measured on this machine"));
  EXPECT_TRUE(said.err.empty()) << said.err;
  EXPECT_TRUE(drive_.empty());
}

TEST_F(MachineOfAProfile, AnotherMachineIsRefusedUnlessItIsMeant) {
  struct Other {
    Change change;
    const char* said;
  };
  const std::vector<Other> others = {
      {[](MachineProfile& p) { p.provenance.cpu = "Abacus 3000"; }, "'Abacus 3000'"},
      {[](MachineProfile& p) { p.provenance.cores += 1; }, "cores"},
      {[](MachineProfile& p) { drive_of(p).device.filesystem = "zonefs"; }, "'zonefs'"},
      {[](MachineProfile& p) { drive_of(p).device.path = "/nowhere/cache"; }, "/nowhere/cache"},
  };
  for (const Other& other : others) {
    const Said refused = check(other.change);
    EXPECT_TRUE(says(refused, 2, other.said));
    EXPECT_TRUE(says(refused, 2, "fulcrum calibrate --path")) << "what to do";
    const Said meant = check(other.change, {"--other-machine"});
    EXPECT_TRUE(says(meant, 0, other.said));
    EXPECT_TRUE(meant.err.empty()) << meant.err;
  }
}

TEST_F(MachineOfAProfile, AnotherDriveInTheSamePlaceIsRefused) {
  if (drive_of(here_).device.serial_hash.empty()) GTEST_SKIP() << "the drive below the test has no serial";
  const Change other = [](MachineProfile& p) { drive_of(p).device.serial_hash = "0123456789abcdef"; };
  EXPECT_TRUE(says(check(other), 2, "serial"));
  EXPECT_TRUE(says(check(other, {"--other-machine"}), 0, "serial"));
}

TEST_F(MachineOfAProfile, AllDifferencesAreReportedAtOnce) {
  const Said said = check([](MachineProfile& p) {
    p.provenance.cpu = "Abacus 3000";
    p.provenance.cores += 1;
    drive_of(p).device.path = "/nowhere/cache";
  });
  for (const char* word : {"Abacus 3000", "cores", "/nowhere/cache"}) EXPECT_TRUE(says(said, 2, word));
}

TEST_F(MachineOfAProfile, AnotherKernelOrAnOldProfileIsNoted) {
  const Said kernel = check([](MachineProfile& p) { p.provenance.kernel = "Linux 2.6.32 x86_64"; });
  EXPECT_TRUE(says(kernel, 0, "note: "));
  EXPECT_TRUE(says(kernel, 0, "2.6.32"));
  EXPECT_TRUE(
      says(check([](MachineProfile& p) { p.provenance.created_utc = "2020-02-29T00:00:00Z"; }), 0, "stale"));
}

TEST_F(MachineOfAProfile, TheExampleIsNoMachinesProfile) {
  EXPECT_TRUE(says(run_program({"check", "--profile", kExample}), 2, "does not say which machine"));
  EXPECT_TRUE(says(run_program({"check", "--profile", kExample, "--other-machine"}), 0, "does not say"));
}

TEST_F(MachineOfAProfile, SimulationAndCalculationGoOnAndSayWhoseFiguresTheseAre) {
  const std::string profile = saved([](MachineProfile& p) { p.provenance.cpu = "Abacus 3000"; });
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"breakeven", "--profile", profile, "--json", "-"},
           {"replay", "--profile", profile, "--trace", kTrace, "--requests", "50", "--json", "-"}}) {
    const Said said = run_program(arguments);
    EXPECT_EQ(said.exit_code, 0) << said.err;
    EXPECT_TRUE(nlohmann::json::accept(said.out)) << "the note is not in the JSON";
    EXPECT_NE(said.err.find("are those of another machine (Abacus 3000"), std::string::npos) << said.err;
  }
  const Said own = run_program({"breakeven", "--profile", saved([](MachineProfile&) {})});
  EXPECT_TRUE(own.err.empty()) << own.err;
}

}  // namespace
}  // namespace fulcrum::test
