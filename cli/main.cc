// The `fulcrum` program: parses the command line, runs one subcommand, returns its exit code.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>

#include "cli/commands.h"
#include "cli/output.h"
#include "fulcrum/version.h"

namespace {

constexpr const char* kFooter =
    "A first session:\n"
    "  fulcrum calibrate --path /mnt/cache --prefill-datasheet H100-SXM --model config.json --out "
    "machine.yaml\n"
    "  fulcrum breakeven --profile machine.yaml\n"
    "  fulcrum replay --profile machine.yaml --trace data/mooncake_conversation/conversation_cut.jsonl.zst\n"
    "\n"
    "Exit codes: 0 done, 1 the machine refused something, 2 bad input, 3 measured but not to be relied on,\n"
    "130 interrupted.";

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Fulcrum decides whether reading KV cache back beats recomputing it.", "fulcrum"};
  program.set_version_flag("--version", FULCRUM_VERSION);
  program.require_subcommand(1);
  program.footer(kFooter);

  fulcrum::cli::Action action;
  fulcrum::cli::add_calibrate(program, action);
  fulcrum::cli::add_breakeven(program, action);
  fulcrum::cli::add_check(program, action);
  fulcrum::cli::add_replay(program, action);
  fulcrum::cli::add_explain(program, action);

  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return program.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    program.exit(wrong);
    return fulcrum::cli::kBadInput;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of the write, not the end of the program
  try {
    const int code = action();
    std::cout.flush();
    if (std::cout.good()) return code;
    std::fprintf(stderr,
                 "fulcrum: standard output could not be written; look for a full disk or a closed pipe\n");
    return fulcrum::cli::kFailed;
  } catch (const std::exception& unexpected) {
    std::fprintf(stderr, "fulcrum: internal error: %s\nPlease report it with the command line.\n",
                 unexpected.what());
    return fulcrum::cli::kFailed;
  }
}
