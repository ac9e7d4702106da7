// Runs the real `fulcrum` program as a user would and keeps what it said.
#pragma once

#include <csignal>
#include <cstddef>
#include <filesystem>
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

/// A directory of the test's own, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] std::string path(const std::string& name = {}) const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  /// Writes a file and returns its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::size_t entries() const;

 private:
  std::string path_;
};

}  // namespace fulcrum::test
