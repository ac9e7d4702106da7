// `fulcrum fsck` on real stores with bits flipped, files cut and files swapped: it finds each of them, and
// what it takes out is a miss from then on.
#include <unistd.h>

#include "tests/cli/store_fixture.h"

namespace fulcrum::test {
namespace {

constexpr std::int64_t kHeaderPage = 4096;

class FsckCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(directory_);
    make_store(directory_);
  }
  Said fsck(const std::string& flag = {}) {
    std::vector<std::string> arguments = {"fsck", directory_, "--json", json_path_};
    if (!flag.empty()) arguments.push_back(flag);
    return run_program(arguments);
  }
  [[nodiscard]] nlohmann::json told() const { return json_in(json_path_); }
  [[nodiscard]] std::string segment() const {
    return fullest_segment(directory_, scratch_.path("inspect.json"));
  }
  /// Blocks that a tier on this store serves, all chains together.
  [[nodiscard]] std::uint32_t served() const {
    LiveStore store(directory_);
    std::uint32_t sum = 0;
    for (std::uint32_t chain = 0; chain < kStoreChains; ++chain) sum += store.served(chain);
    store.close();
    return sum;
  }

  ScratchDirectory scratch_;
  std::string directory_ = scratch_.path("store");
  std::string json_path_ = scratch_.path("out.json");
};

TEST_F(FsckCommand, FindsAWholeStoreClean) {
  EXPECT_TRUE(says(fsck(), 0, ": clean"));
  EXPECT_EQ(told()["rows"], kStoreBlocks * kStoreChains);
  EXPECT_EQ(told()["damage"], false);
}

TEST_F(FsckCommand, FindsAFlippedBitOfARowAndSaysWhere) {
  flip(segment(), kHeaderPage + 3 * kStoreRow + 77);
  const Said said = fsck();
  EXPECT_TRUE(says(said, 1, "its checksum is wrong"));
  ASSERT_EQ(told()["damaged_rows"].size(), 1U) << said.out << said.err;
  EXPECT_EQ(told()["damaged_rows"][0]["offset"], kHeaderPage + 3 * kStoreRow);
  EXPECT_EQ(told()["damaged_headers"].size(), 0U);
  EXPECT_EQ(fsck().exit_code, 1) << "looking mends nothing";
}

TEST_F(FsckCommand, QuarantineMakesDamagedBlocksMissesAndTheStoreClean) {
  const std::string path = segment();
  flip(path, kHeaderPage + 3 * kStoreRow + 77);
  flip(path, kHeaderPage + 9 * kStoreRow);
  EXPECT_TRUE(says(fsck("--quarantine"), 1, "2 blocks taken out"));
  EXPECT_TRUE(says(fsck(), 0, ": clean"));
  EXPECT_EQ(told()["rows"], kStoreBlocks * kStoreChains - 2);
  run_program({"inspect", directory_, "--json", json_path_});
  EXPECT_EQ(told()["blocks"], kStoreBlocks * kStoreChains - 2);
  EXPECT_EQ(told()["clean"], true);
  EXPECT_EQ(served(), kStoreBlocks * (kStoreChains - 1) + 3) << "in front of the first missing block";
}

TEST_F(FsckCommand, FindsADamagedHeaderAndTakesItsBlocksOut) {
  flip(segment(), 200);
  EXPECT_TRUE(says(fsck(), 1, "damaged: header"));
  EXPECT_EQ(told()["damaged_rows"].size(), 0U);
  const auto blocks = told()["damaged_headers"][0]["blocks"].get<std::uint32_t>();
  EXPECT_GT(blocks, 0U);
  EXPECT_EQ(fsck("--repair").exit_code, 1);
  EXPECT_EQ(told()["quarantined"], blocks);
  EXPECT_EQ(fsck().exit_code, 0);
  run_program({"inspect", directory_, "--json", json_path_});
  EXPECT_EQ(told()["blocks"], kStoreBlocks * kStoreChains - blocks);
  (void)served();
}

TEST_F(FsckCommand, FindsASegmentThatWasCut) {
  const std::string path = segment();
  std::filesystem::resize_file(path, kHeaderPage + 5 * kStoreRow + 4096);
  EXPECT_TRUE(says(fsck(), 1, "it cannot be read"));
  EXPECT_GT(told()["damaged_rows"].size(), 0U);
  EXPECT_EQ(fsck("--quarantine").exit_code, 1);
  EXPECT_EQ(fsck().exit_code, 0);
  (void)served();
}

TEST_F(FsckCommand, FindsSegmentsThatWereSwapped) {
  const std::string path = segment();
  const std::string other =
      path.ends_with("000000") ? directory_ + "/segments/000001" : directory_ + "/segments/000000";
  std::filesystem::rename(path, scratch_.path("aside"));
  std::filesystem::rename(other, path);
  std::filesystem::rename(scratch_.path("aside"), other);
  EXPECT_EQ(fsck().exit_code, 1);
  EXPECT_GT(told()["damaged_rows"].size(), 10U);
  EXPECT_EQ(fsck("--quarantine").exit_code, 1);
  EXPECT_EQ(fsck().exit_code, 0);
}

TEST_F(FsckCommand, FindsADamagedSuperblockAndWritesItAnew) {
  flip(directory_ + "/meta", 50);
  EXPECT_TRUE(says(fsck(), 1, "superblock 0 of two"));
  EXPECT_EQ(fsck("--quarantine").exit_code, 1);
  EXPECT_EQ(told()["quarantined"], 0);
  EXPECT_TRUE(says(fsck(), 0, ": clean"));
  EXPECT_EQ(served(), kStoreBlocks * kStoreChains);
}

TEST_F(FsckCommand, FindsADamagedJournal) {
  run_program({"inspect", directory_, "--json", json_path_});
  const auto half = told()["journal"]["half"].get<int>();
  const auto meta = static_cast<std::int64_t>(std::filesystem::file_size(directory_ + "/meta"));
  const std::int64_t half_bytes = (meta - 4 * kHeaderPage) / 2 / kHeaderPage * kHeaderPage;
  flip(directory_ + "/meta", 4 * kHeaderPage + half * half_bytes + 60);
  EXPECT_TRUE(says(fsck(), 1, "journal"));
}

TEST_F(FsckCommand, TellsExtentsThatWereNeverPublishedFromDamage) {
  std::filesystem::path before = scratch_.path("before");
  std::filesystem::copy_file(directory_ + "/meta", before);
  {
    LiveStore store(directory_);
    store.write(7);
    store.close();
  }
  // As after a crash that the journal's last records did not survive.
  std::filesystem::copy_file(before, directory_ + "/meta", std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(says(fsck(), 0, "orphans: "));
  EXPECT_EQ(told()["orphan_blocks"], kStoreBlocks);
}

TEST_F(FsckCommand, ATornTailIsWhatACrashLeavesAndNoDamage) {
  {
    LiveStore store(directory_);
    store.write(7);
  }  // not closed
  EXPECT_EQ(fsck().exit_code, 0);
}

TEST_F(FsckCommand, DoesNotLookWhileAnOwnerHoldsTheStore) {
  LiveStore store(directory_);
  for (const char* flag : {"", "--quarantine"}) {
    EXPECT_TRUE(says(fsck(flag), 2, "pid " + std::to_string(getpid()))) << flag;
  }
  store.close();
}

TEST_F(FsckCommand, SaysWhatIsNoStore) {
  const ScratchDirectory empty;
  EXPECT_TRUE(says(run_program({"fsck", empty.path()}), 2, "holds no store"));
  EXPECT_TRUE(says(run_program({"fsck", empty.path(), "--quarantine"}), 2, "holds no store"));
  EXPECT_TRUE(empty.empty());
}

}  // namespace
}  // namespace fulcrum::test
