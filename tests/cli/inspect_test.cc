// `fulcrum inspect` on real stores: whole, held, damaged, of a newer format, and none at all.
#include <unistd.h>

#include "tests/cli/store_fixture.h"
#include "tiers/format.h"

namespace fulcrum::test {
namespace {

class InspectCommand : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(directory_); }
  Said inspect() { return run_program({"inspect", directory_, "--json", json_path_}); }

  ScratchDirectory scratch_;
  std::string directory_ = scratch_.path("store");
  std::string json_path_ = scratch_.path("out.json");
};

TEST_F(InspectCommand, TellsWhatAStoreHolds) {
  make_store(directory_);
  const Said said = inspect();
  EXPECT_TRUE(says(said, 0, "tools@1")) << said.err;
  EXPECT_TRUE(says(said, 0, "closed cleanly"));
  EXPECT_EQ((said.out + said.err).find("pepper"), std::string::npos) << "the salt is a secret";
  const auto told = json_in(json_path_);
  const std::int64_t blocks = std::int64_t{kStoreBlocks} * kStoreChains;
  EXPECT_EQ(told["blocks"], blocks);
  EXPECT_EQ(told["live_B"], blocks * kStoreRow);
  EXPECT_EQ(told["dead_B"], 0);
  EXPECT_EQ(told["clean"], true);
  EXPECT_EQ(told["held"], false);
  EXPECT_GE(told["written"]["ever_B"], blocks * kStoreRow);
  EXPECT_EQ(told["worth_log2"]["p0"], 0.0);
  EXPECT_EQ(told["worth_log2"]["p100"], 2.0);
  std::int64_t sum = 0;
  for (const auto& segment : told["segments"]) sum += segment["blocks"].get<std::int64_t>();
  EXPECT_EQ(sum, blocks);
}

TEST_F(InspectCommand, CountsErasedBlocksAsDead) {
  make_store(directory_);
  {
    LiveStore store(directory_);
    store.tier().erase(store_chain(1));
    store.close();
  }
  inspect();
  const auto told = json_in(json_path_);
  EXPECT_EQ(told["blocks"], kStoreBlocks * (kStoreChains - 1));
  EXPECT_GE(told["dead_B"], kStoreBlocks * kStoreRow);
}

TEST_F(InspectCommand, LooksOnWhileAnOwnerHoldsTheStoreAndNamesIt) {
  LiveStore store(directory_);
  store.write(0);
  EXPECT_TRUE(says(inspect(), 0, "pid " + std::to_string(getpid())));
  EXPECT_EQ(json_in(json_path_)["held"], true);
  EXPECT_EQ(json_in(json_path_)["blocks"], kStoreBlocks);
  store.write(1);
  inspect();
  EXPECT_EQ(json_in(json_path_)["blocks"], 2 * kStoreBlocks);
  EXPECT_EQ(store.served(1), kStoreBlocks) << "the owner goes on";
}

TEST_F(InspectCommand, WritesNothing) {
  make_store(directory_);
  const auto image = [&] {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      all.append(std::istreambuf_iterator<char>(in), {});
      all += entry.path().string();
    }
    return all;
  };
  const std::string before = image();
  inspect();
  EXPECT_TRUE(before == image());
}

TEST_F(InspectCommand, SaysWhichSuperblockIsDamagedAndGoesOn) {
  make_store(directory_);
  flip(directory_ + "/meta", 100);
  EXPECT_TRUE(says(inspect(), 0, "number 0 of two is damaged"));
  EXPECT_EQ(json_in(json_path_)["blocks"], kStoreBlocks * kStoreChains);
  flip(directory_ + "/meta", 4096 + 100);
  EXPECT_TRUE(says(inspect(), 2, "no superblock is valid"));
}

TEST_F(InspectCommand, RefusesANewerFormatByName) {
  make_store(directory_);
  // Both superblocks as a program of the next format would write them.
  std::fstream file(directory_ + "/meta", std::ios::in | std::ios::out | std::ios::binary);
  std::vector<char> page(kPage);
  file.read(page.data(), static_cast<std::streamsize>(page.size()));
  auto newer = decode_superblock(std::as_bytes(std::span(page)));
  ASSERT_TRUE(newer);
  newer->incompatible = std::uint64_t{1} << 40;
  encode_superblock(*newer, std::as_writable_bytes(std::span(page)));
  for (const std::int64_t at : {0, 4096}) {
    file.seekp(at);
    file.write(page.data(), static_cast<std::streamsize>(page.size()));
  }
  file.close();
  const Said said = inspect();
  EXPECT_EQ(said.exit_code, 2) << said.out << said.err;
  EXPECT_NE(said.err.find(directory_), std::string::npos) << said.err;
}

TEST_F(InspectCommand, SaysWhatIsNoStore) {
  EXPECT_TRUE(says(run_program({"inspect", directory_}), 2, "holds no store"));
  EXPECT_TRUE(says(run_program({"inspect", directory_ + "/nowhere"}), 2, "nowhere"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "looking leaves nothing behind";
  std::ofstream(directory_ + "/meta") << "short";
  EXPECT_EQ(run_program({"inspect", directory_}).exit_code, 2);
}

}  // namespace
}  // namespace fulcrum::test
