// Runs the real `fulcrum` program as a user would and keeps what it said.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fulcrum::test {

struct Said {
  int exit_code = -1;  ///< 128 + signal where it was killed
  std::string out;
  std::string err;
};

/// Runs `fulcrum arguments...`. With `signal_after_s` > 0 sends SIGINT that many seconds after the start.
Said run_program(const std::vector<std::string>& arguments, double signal_after_s = 0);

/// That it ended with this exit code, said these words on either stream, and did not crash.
::testing::AssertionResult says(const Said& said, int exit_code, const std::string& words);

}  // namespace fulcrum::test
