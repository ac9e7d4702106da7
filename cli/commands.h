// The subcommands of `fulcrum`. Each adds its options to the program and, when chosen, stores what to run.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace fulcrum::cli {

/// Set by the chosen subcommand; returns the exit code.
using Action = std::function<int()>;

void add_calibrate(CLI::App& program, Action& action);
void add_breakeven(CLI::App& program, Action& action);
void add_check(CLI::App& program, Action& action);
void add_replay(CLI::App& program, Action& action);
void add_explain(CLI::App& program, Action& action);
void add_inspect(CLI::App& program, Action& action);
void add_fsck(CLI::App& program, Action& action);
void add_bench(CLI::App& program, Action& action);

}  // namespace fulcrum::cli
