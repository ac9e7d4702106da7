#include "tests/cli/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/scratch.h"

namespace fulcrum::test {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

[[noreturn]] void become_program(const std::vector<std::string>& arguments, const std::string& out,
                                 const std::string& err) {
  const int out_fd = ::open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  const int err_fd = ::open(err.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  ::dup2(out_fd, STDOUT_FILENO);
  ::dup2(err_fd, STDERR_FILENO);
  std::vector<char*> argv;
  std::string name = FULCRUM_PROGRAM;
  argv.push_back(name.data());
  std::vector<std::string> copies = arguments;
  for (auto& copy : copies) argv.push_back(copy.data());
  argv.push_back(nullptr);
  ::execv(FULCRUM_PROGRAM, argv.data());
  ::_exit(127);
}

}  // namespace

Said run_program(const std::vector<std::string>& arguments, double signal_after_s) {
  const ScratchDirectory scratch;
  const std::string out = scratch.path("out");
  const std::string err = scratch.path("err");
  const pid_t child = ::fork();
  if (child == 0) become_program(arguments, out, err);
  if (signal_after_s > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(signal_after_s));
    ::kill(child, SIGINT);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = read(out),
          .err = read(err)};
}

::testing::AssertionResult says(const Said& said, int exit_code, const std::string& words) {
  if (said.exit_code != exit_code) {
    return ::testing::AssertionFailure()
           << "exit code " << said.exit_code << ", out: " << said.out << ", err: " << said.err;
  }
  if ((said.out + said.err).find(words) == std::string::npos) {
    return ::testing::AssertionFailure() << "'" << words << "' is not in: " << said.out << said.err;
  }
  for (const char* noise : {"terminate called", "what():", "Aborted", "core dumped"}) {
    if (said.err.find(noise) != std::string::npos) return ::testing::AssertionFailure() << said.err;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace fulcrum::test
