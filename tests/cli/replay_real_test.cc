// `fulcrum replay --real`: the program on real files.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/row_content.h"
#include "tests/cli/program.h"
#include "tests/support/scratch.h"

namespace fulcrum::test {
namespace {

const std::string kSource = FULCRUM_SOURCE_DIR;
// 512 tokens of this model are 64 MiB; one in 1024 of that makes rows of 64 KiB.
constexpr const char* kPolicy = R"(version: 1
block_tokens: 512
tiers:
  - {name: dram, capacity: 8 GiB}
  - {name: nvme, capacity: 256 GiB}
engine: {staging: 64 MiB}
)";

class ReplayReal : public testing::Test {
 protected:
  Said replay(const std::vector<std::string>& more) { return replay_in(scratch_.path(), more); }
  Said replay_in(const std::string& directory, const std::vector<std::string>& more,
                 const std::string& share = "1024") {
    std::vector<std::string> arguments = {"replay",
                                          "--trace",
                                          kSource + "/data/mooncake_conversation/conversation_cut.jsonl.zst",
                                          "--profile",
                                          kSource + "/configs/profiles/example.yaml",
                                          "--policy",
                                          scratch_.write("policy.yaml", policy_),
                                          "--real",
                                          directory,
                                          "--kv-share",
                                          share};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
  ScratchDirectory scratch_;
  std::string policy_ = kPolicy;
};

TEST_F(ReplayReal, LoadsWhatWasStoredAndChecksEveryByte) {
  const std::string json = scratch_.path("report.json");
  const Said said = replay({"--speed", "2000", "--requests", "150", "--json", json});
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_NE(said.out.find("wrong bytes: none"), std::string::npos) << said.out;
  std::ifstream in(json);
  const auto report = nlohmann::json::parse(in);
  EXPECT_EQ(report["requests"], 150);
  EXPECT_GT(report["blocks"]["loaded"], 50);
  EXPECT_FALSE(report["wrong_bytes"]);
  EXPECT_TRUE(report["closed_clean"]);
  EXPECT_EQ(report["tiers"][1]["corrupt"], 0);
  EXPECT_GT(report["tiers"][1]["blocks_written"], 0) << "memory is too small for all";
  EXPECT_FALSE(std::filesystem::exists(scratch_.path("fulcrum-replay-nvme"))) << "it cleans up";
}

TEST_F(ReplayReal, KeepsTheTiersWhereAsked) {
  const Said said = replay({"--speed", "2000", "--requests", "5", "--keep"});
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_TRUE(std::filesystem::exists(scratch_.path("fulcrum-replay-nvme/meta")));
  EXPECT_TRUE(says(replay({"--speed", "2000", "--requests", "5"}), 2, "is there already"));
}

TEST_F(ReplayReal, RefusesWhatItCannotDo) {
  EXPECT_TRUE(says(replay_in("/nowhere", {}), 2, "/nowhere"));
  EXPECT_TRUE(says(replay({"--speed", "0"}), 2, "--speed"));
  EXPECT_TRUE(says(replay({"--speed", "nan"}), 2, "--speed"));
  EXPECT_TRUE(says(replay({"--replicas", "2"}), 2, "--real"));
  EXPECT_TRUE(says(replay_in(scratch_.path(), {}, "-1"), 2, "--kv-share"));
  EXPECT_TRUE(says(run_program({"replay", "--trace", "x", "--keep"}), 2, "--real"));
}

TEST_F(ReplayReal, RowsAreWholeBytesAndAtLeastAPage) {
  EXPECT_TRUE(says(replay_in(scratch_.path(), {}, "1000"), 2, "such as 512"));
  EXPECT_TRUE(says(replay_in(scratch_.path(), {}, "32768"), 2, "such as 16384"));
  EXPECT_FALSE(std::filesystem::exists(scratch_.path("fulcrum-replay-nvme")));
}

TEST_F(ReplayReal, ATierTooSmallForItsShareIsToldWithTheShare) {
  policy_ = "version: 1\nblock_tokens: 512\ntiers:\n  - {name: nvme, capacity: 64 MiB}\n";
  EXPECT_TRUE(says(replay_in(scratch_.path(), {"--requests", "5"}, "1024"), 2, "divided by 1024"));
}

TEST(RowContent, EveryChangedByteIsFound) {
  const BlockKey key{1, 2};
  std::vector<std::byte> row(1003);
  cli::fill_row(key, row);
  EXPECT_EQ(cli::first_difference(key, row), std::nullopt);
  EXPECT_EQ(cli::first_difference(BlockKey{1, 3}, row), 0U) << "the row of another key";
  for (std::size_t at = 0; at < row.size(); ++at) {
    row[at] ^= std::byte{1};
    EXPECT_EQ(cli::first_difference(key, row), at);
    row[at] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace fulcrum::test
