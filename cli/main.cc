// The `fulcrum` program: parses the command line, runs one subcommand, returns its exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "fulcrum/version.h"

namespace {

constexpr const char* kFirstSession =
    "A first session:\n"
    "  fulcrum calibrate --path /mnt/cache --prefill-datasheet H100-SXM --model config.json --out "
    "machine.yaml\n"
    "  fulcrum breakeven --profile machine.yaml\n"
    "  fulcrum replay --profile machine.yaml --trace data/mooncake_conversation/conversation_cut.jsonl.zst\n"
    "\n";

/// Every --help ends with the exit codes.
void add_footers(CLI::App& program) {
  for (CLI::App* command : program.get_subcommands({})) {
    const std::string own = command->get_footer();
    command->footer(own + (own.empty() ? "" : "\n\n") + fulcrum::cli::kExitCodes);
  }
  program.footer(std::string(kFirstSession) + fulcrum::cli::kExitCodes);
}

/// Says that no command has the name that was given. False where the command line is wrong in another way.
bool report_unknown_command(const CLI::App& program, std::span<char*> arguments) {
  if (arguments.size() < 2 || arguments[1][0] == '-') return false;
  const std::string_view given = arguments[1];
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), given) != names.end()) return false;
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  const std::string_view near = fulcrum::nearest(given, views);
  fulcrum::cli::fail(fulcrum::bad_input(
      {}, "unknown command '" + std::string(given) + "'",
      near.empty() ? "commands: " + list : "did you mean '" + std::string(near) + "'? Commands: " + list));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Fulcrum decides whether reading KV cache back beats recomputing it.", "fulcrum"};
  program.set_version_flag("--version", FULCRUM_VERSION);
  program.require_subcommand(1);

  fulcrum::cli::Action action;
  fulcrum::cli::add_calibrate(program, action);
  fulcrum::cli::add_breakeven(program, action);
  fulcrum::cli::add_check(program, action);
  fulcrum::cli::add_replay(program, action);
  fulcrum::cli::add_explain(program, action);
  fulcrum::cli::add_inspect(program, action);
  fulcrum::cli::add_fsck(program, action);
  fulcrum::cli::add_bench(program, action);
  add_footers(program);

  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return program.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    if (!report_unknown_command(program, {argv, static_cast<std::size_t>(argc)})) program.exit(wrong);
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
