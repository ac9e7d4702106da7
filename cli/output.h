// What every subcommand says and returns: exit codes, error lines, tables.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "fulcrum/result.h"

namespace fulcrum::cli {

/// Exit codes, the same for every subcommand (`fulcrum --help`).
enum ExitCode : int {
  kOk = 0,             ///< done
  kFailed = 1,         ///< the machine refused something: disk full, no permission, device error
  kBadInput = 2,       ///< an argument, a file or a combination of files is wrong
  kUntrusted = 3,      ///< done, but a measurement is not good enough to rely on (calibrate --strict)
  kInterrupted = 130,  ///< stopped by Ctrl-C; nothing was left behind
};

/// The same in words, for the end of every --help.
inline constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 the machine refused something, 2 bad input (also a profile of another machine),\n"
    "3 done but not to be relied on, 130 interrupted.";

/// Prints "fulcrum: <message>" to stderr and returns the exit code for the error's kind.
int fail(const Error& error);
/// The same for tools whose codes 0 and 1 tell what they saw: 2 whatever kept them from looking, or 130.
int cannot_look(const Error& error);
/// Prints "fulcrum: note: <where>: <text>" to stderr: worth knowing, no obstacle.
void note(const std::string& where, const std::string& text);

/// A text table: first column left, the others right, a rule under the head.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// A number with `digits` significant digits, thousands separated: "12,031", "0.374".
[[nodiscard]] std::string number(double value, int digits = 3);

/// Can these outputs be written, as far as can be told before the work? Empty names are skipped, "-" is
/// standard output and may be named once. Kinds: bad_input, not_found, permission, read_only.
Result<void> check_outputs(const std::vector<std::string>& paths);
/// Writes a text to `path` ("-" is stdout), atomically.
Result<void> write_text(const std::string& path, const std::string& text);
/// Where tables go: to standard error where the JSON goes to standard output.
std::ostream& table_stream(const std::string& json_path);

}  // namespace fulcrum::cli
