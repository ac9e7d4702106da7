// Arguments and files that are slips: a misspelt command, a binary file, one directory twice, a wild number.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/scratch.h"

namespace fulcrum::test {
namespace {

const std::string kSource = FULCRUM_SOURCE_DIR;
const std::string kTrace = kSource + "/data/mooncake_conversation/conversation_cut.jsonl.zst";

TEST(Arguments, AnUnknownCommandIsNamedWithTheNearestAndTheList) {
  EXPECT_TRUE(says(run_program({"bogus"}), 2, "unknown command 'bogus'"));
  EXPECT_TRUE(
      says(run_program({"bogus", "--profile", "x"}), 2, "calibrate, breakeven, check, replay, explain"));
  EXPECT_TRUE(says(run_program({"calibrat"}), 2, "did you mean 'calibrate'?"));
}

TEST(Arguments, EveryHelpEndsWithTheSameExitCodes) {
  const std::string whole = run_program({"--help"}).out;
  const std::string codes = whole.substr(std::min(whole.find("Exit codes:"), whole.size()));
  ASSERT_NE(codes.find("130 interrupted"), std::string::npos) << whole;
  for (const char* command : {"calibrate", "breakeven", "check", "replay", "explain"}) {
    const std::string help = run_program({command, "--help"}).out;
    EXPECT_TRUE(help.ends_with(codes)) << command << ": " << help;
    EXPECT_EQ(help.find("Exit codes:"), help.rfind("Exit codes:")) << command;
  }
}

TEST(Arguments, ABinaryFileIsRefusedAndNotEchoed) {
  const ScratchDirectory scratch;
  const auto raw = [](char c) { return (c < ' ' && c != '\n') || c == '\x7f' || (c & '\x80') != 0; };
  for (const std::string& bytes : {std::string("\x7f"
                                               "ELF\x02\x00\x01 rest",
                                               13),
                                   std::string("load \xff\xfe t=1"), std::string("load\0 t=1", 9),
                                   std::string("\x1b[31mload t=1"), std::string("load \xc2\x9b t=1")}) {
    const std::string log = scratch.write("d.log", bytes);
    const Said said = run_program({"explain", log});
    EXPECT_TRUE(says(said, 2, "d.log:1"));
    EXPECT_TRUE(says(said, 2, "is no text"));
    EXPECT_TRUE(std::none_of(said.err.begin(), said.err.end(), raw)) << said.err;
  }
}

TEST(Arguments, MessagesShowControlCharactersAndKeepLetters) {
  const Said said = run_program({"check", "--policy", "/nowhere/\x1b[2J\xc3\xa9.yaml"});
  EXPECT_TRUE(says(said, 2, "/nowhere/\\x1b[2J\xc3\xa9.yaml"));
}

TEST(Arguments, OneDirectoryIsNotMeasuredTwice) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch.path("d"));
  std::filesystem::create_directory(scratch.path("e"));
  std::filesystem::create_directory_symlink("d", scratch.path("link"));
  for (const char* again : {"d", "d/", "./d", "link", "e/../d"}) {
    EXPECT_TRUE(says(run_program({"calibrate", "--path", scratch.path("d"), "--path", scratch.path("e"),
                                  "--path", scratch.path(again), "--dry-run"}),
                     2, "are the same directory"))
        << again;
  }
  EXPECT_TRUE(
      says(run_program({"calibrate", "--path", scratch.path("d"), "--path", scratch.path("e"), "--dry-run"}),
           0, ""));
}

TEST(Arguments, ADeviceSpeedOutOfRangeIsRefusedWithTheRange) {
  const auto replay = [](const std::string& speed) {
    return run_program({"replay", "--trace", kTrace, "--requests", "20", "--device-speed", speed});
  };
  for (const char* factor : {"0", "-1", "1e300", "1e-300", "nan", "inf", "", "fast", "0.1x"}) {
    EXPECT_TRUE(says(replay(std::string("nvme=") + factor), 2, "from 1e-6 to 1e6")) << factor;
  }
  EXPECT_TRUE(says(replay("tape=1"), 2, "tape=1"));
  EXPECT_TRUE(says(replay("nvme"), 2, "'nvme'"));
  for (const char* factor : {"1e-6", "0.1", "1e6"}) {
    EXPECT_TRUE(says(replay(std::string("nvme=") + factor), 0, "break_even")) << factor;
  }
}

}  // namespace
}  // namespace fulcrum::test
