// Whether a profile belongs to the machine in hand: what is another machine, what is only worth a note.
#include "model/profile_match.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/model/example_profile.h"

namespace fulcrum::test {
namespace {

const DeviceIdentity kDrive = {.path = "/mnt/a",
                               .filesystem = "ext4",
                               .device = "nvme0n1",
                               .model = "DriveA",
                               .serial_hash = "abc",
                               .scheduler = "none",
                               .firmware = "1.0",
                               .pcie = {.lanes = 4, .transfers = 16}};

/// A profile that names its machine; its tiers are dram, nvme and hdd.
MachineProfile measured() {
  MachineProfile profile = example_profile();
  profile.provenance.cpu = "Xeon 8480";
  profile.provenance.cores = 16;
  profile.provenance.memory = 64_GiB;
  profile.provenance.kernel = "Linux 6.1.0 x86_64";
  profile.provenance.created_utc = "2025-01-31T10:00:00Z";
  for (TierProfile& tier : profile.tiers) {
    if (tier.name == "nvme") tier.device = kDrive;
  }
  return profile;
}

/// The machine that measured(), on the day after.
MachineNow same() {
  return {.cpu = "Xeon 8480",
          .cores = 16,
          .memory = 64_GiB,
          .kernel = "Linux 6.1.0 x86_64",
          .utc = "2025-02-01T09:00:00Z",
          .tiers = {{.tier = "nvme", .device = kDrive, .missing = {}}}};
}

struct Case {
  const char* what;
  std::function<void(MachineNow&)> change;
  const char* said;
};

MachineDifferences after(const std::function<void(MachineNow&)>& change) {
  MachineNow now = same();
  change(now);
  return machine_differences(measured(), now);
}

TEST(ProfileMatch, TheMachineThatWasMeasuredHasNoDifferences) {
  const MachineDifferences found = machine_differences(measured(), same());
  EXPECT_TRUE(found.same_machine()) << found.mismatches.front();
  EXPECT_TRUE(found.notes.empty()) << found.notes.front();
}

TEST(ProfileMatch, EachOfTheseIsAnotherMachine) {
  const std::vector<Case> cases = {
      {"processor", [](MachineNow& now) { now.cpu = "EPYC 9654"; }, "'EPYC 9654'"},
      {"cores", [](MachineNow& now) { now.cores = 8; }, "may use 8"},
      {"half the memory", [](MachineNow& now) { now.memory = 32_GiB; }, "memory"},
      {"drive model", [](MachineNow& now) { now.tiers[0].device.model = "DriveB"; }, "'DriveB'"},
      {"serial", [](MachineNow& now) { now.tiers[0].device.serial_hash = "def"; }, "serial"},
      {"filesystem", [](MachineNow& now) { now.tiers[0].device.filesystem = "xfs"; }, "'xfs'"},
      {"no directory", [](MachineNow& now) { now.tiers[0].missing = "it is gone"; }, "'nvme': it is gone"},
  };
  for (const Case& one : cases) {
    const MachineDifferences found = after(one.change);
    ASSERT_EQ(found.mismatches.size(), 1U) << one.what;
    EXPECT_NE(found.mismatches[0].find(one.said), std::string::npos) << found.mismatches[0];
    EXPECT_TRUE(found.notes.empty()) << one.what;
  }
}

TEST(ProfileMatch, EachOfTheseIsOnlyANote) {
  const std::vector<Case> cases = {
      {"kernel", [](MachineNow& now) { now.kernel = "Linux 6.12.0 x86_64"; }, "6.12.0"},
      {"scheduler", [](MachineNow& now) { now.tiers[0].device.scheduler = "bfq"; }, "'bfq'"},
      {"firmware", [](MachineNow& now) { now.tiers[0].device.firmware = "1.1"; }, "'1.1'"},
      {"a link of half its width", [](MachineNow& now) { now.tiers[0].device.pcie.lanes = 2; }, "2 lanes"},
      {"91 days", [](MachineNow& now) { now.utc = "2025-05-02T00:00:00Z"; }, "91 days"},
      {"the past", [](MachineNow& now) { now.utc = "2025-01-29T00:00:00Z"; }, "clock"},
  };
  for (const Case& one : cases) {
    const MachineDifferences found = after(one.change);
    EXPECT_TRUE(found.same_machine()) << one.what;
    ASSERT_EQ(found.notes.size(), 1U) << one.what;
    EXPECT_NE(found.notes[0].find(one.said), std::string::npos) << found.notes[0];
  }
}

TEST(ProfileMatch, NeitherIsWhatMayChangeOnAMachineThatIsTheSame) {
  const std::vector<Case> cases = {
      {"the drive is mounted elsewhere",
       [](MachineNow& now) {
         now.tiers[0].device.path = "/mnt/b";
         now.tiers[0].device.device = "nvme1n1";
       },
       ""},
      {"the kernel keeps a little more memory", [](MachineNow& now) { now.memory = 63_GiB; }, ""},
      {"90 days", [](MachineNow& now) { now.utc = "2025-05-01T00:00:00Z"; }, ""},
      {"the clock says nothing that is a day", [](MachineNow& now) { now.utc = "2025-02-30T00:00:00Z"; }, ""},
      {"nothing is known", [](MachineNow& now) { now = {}; }, ""},
      {"the drive says nothing", [](MachineNow& now) { now.tiers[0].device = {}; }, ""},
      {"an unused tier is not looked at", [](MachineNow& now) { now.tiers.clear(); }, ""},
      {"memory has no drive",
       [](MachineNow& now) { now.tiers.push_back({.tier = "dram", .device = {}, .missing = "none"}); }, ""},
  };
  for (const Case& one : cases) {
    const MachineDifferences found = after(one.change);
    EXPECT_TRUE(found.same_machine()) << one.what << ": " << found.mismatches.front();
    EXPECT_TRUE(found.notes.empty()) << one.what << ": " << found.notes.front();
  }
}

TEST(ProfileMatch, ADriveWithoutASerialIsKnownByDirectoryAndName) {
  MachineProfile profile = measured();
  for (TierProfile& tier : profile.tiers) tier.device.serial_hash.clear();
  const auto mismatches = [&](const char* path, const char* device) {
    MachineNow now = same();
    now.tiers[0].device.path = path;
    now.tiers[0].device.device = device;
    return machine_differences(profile, now).mismatches.size();
  };
  EXPECT_EQ(mismatches("/mnt/a", "nvme0n1"), 0U);
  EXPECT_EQ(mismatches("/mnt/a/cache", "nvme0n1"), 0U) << "a directory below the measured one";
  EXPECT_EQ(mismatches("/mnt/ab", "nvme0n1"), 1U);
  EXPECT_EQ(mismatches("/mnt", "nvme0n1"), 1U);
  EXPECT_EQ(mismatches("/mnt/a", "nvme1n1"), 1U);
}

TEST(ProfileMatch, AProfileThatNamesNoMachineBelongsToNone) {
  const MachineDifferences found = machine_differences(example_profile(), same());
  ASSERT_EQ(found.mismatches.size(), 1U);
  EXPECT_NE(found.mismatches[0].find("does not say"), std::string::npos);
}

TEST(ProfileMatch, ATierThatNamesNoDriveBelongsToNone) {
  MachineProfile profile = measured();
  for (TierProfile& tier : profile.tiers) tier.device = {};
  const MachineDifferences found = machine_differences(profile, same());
  ASSERT_EQ(found.mismatches.size(), 1U);
  EXPECT_NE(found.mismatches[0].find("'nvme'"), std::string::npos);
}

}  // namespace
}  // namespace fulcrum::test
