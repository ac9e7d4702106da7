// `fulcrum bench io`, small: real files, real engine. What it reports is there, and what it made is gone.
#include "tests/cli/store_fixture.h"

namespace fulcrum::test {
namespace {

std::vector<std::string> small(const std::string& directory, const std::string& json) {
  return {"bench",   "io",    "--dir",    directory, "--quick", "--block", "128KiB",
          "--bytes", "16MiB", "--rounds", "2",       "--json",  json};
}

TEST(BenchIo, ReportsItsRatiosAndLeavesNothingBehind) {
  const ScratchDirectory scratch;
  const ScratchDirectory outputs;
  std::ofstream(scratch.path("mine")) << "stays";
  const Said said = run_program(small(scratch.path(), outputs.path("out.json")));
  ASSERT_EQ(said.exit_code, 0) << said.err;
  const auto told = json_in(outputs.path("out.json"));
  for (const char* key : {"/read/single/ratio", "/read/concurrent32/ratio", "/write/ratio",
                          "/store_p999_us_stalled", "/patterns/file_per_chunk_4/ratio",
                          "/patterns/file_per_chunk_per_request/ratio", "/cpu/cores_per_GBps_read"}) {
    const nlohmann::json::json_pointer pointer(key);
    ASSERT_TRUE(told.contains(pointer)) << key;
    EXPECT_GT(told[pointer].get<double>(), 0) << key;
  }
  EXPECT_EQ(told["rows"].size(), 1U);
  EXPECT_EQ(told["read"]["single"]["ratios"].size(), 2U);
  EXPECT_FALSE(told["io"]["engine"].get<std::string>().empty());
  const auto left = std::distance(std::filesystem::directory_iterator(scratch.path()), {});
  EXPECT_EQ(left, 1) << "only what was there before";
}

TEST(BenchIo, RemovesWhatItWroteWhenItIsStopped) {
  const ScratchDirectory scratch;
  const Said said =
      run_program({"bench", "io", "--dir", scratch.path(), "--bytes", "64MiB", "--rounds", "900"}, 1.0);
  EXPECT_TRUE(says(said, 130, "stopped"));
  EXPECT_TRUE(scratch.empty());
}

TEST(BenchIo, SaysWhatIsWrongWithItsArguments) {
  const ScratchDirectory scratch;
  const std::string& here = scratch.path();
  EXPECT_TRUE(says(run_program({"bench", "io", "--dir", here + "/nowhere"}), 2, "is no directory"));
  EXPECT_TRUE(says(run_program({"bench", "io", "--dir", here, "--block", "5000"}), 2, "whole pages"));
  EXPECT_TRUE(
      says(run_program({"bench", "io", "--dir", here, "--bytes", "1MiB"}), 2, "fewer than 32 blocks"));
  EXPECT_TRUE(says(run_program({"bench", "io", "--dir", here, "--bytes", "1PiB"}), 1, "are free"));
  EXPECT_TRUE(scratch.empty());
}

}  // namespace
}  // namespace fulcrum::test
