#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <ostream>

#include "base/atomic_file.h"
#include "base/errors.h"
#include "cli/printable.h"

namespace fulcrum::cli {
namespace {

ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input:
    case ErrorKind::corrupt:
    case ErrorKind::mismatch:
    case ErrorKind::not_found:
      return kBadInput;
    case ErrorKind::interrupted:
      return kInterrupted;
    default:
      return kFailed;
  }
}

void separate_thousands(std::string& digits) {
  const auto point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.empty() || digits[0] != '-' ? 0 : 1;
  for (std::size_t i = point; i > first + 3; i -= 3) digits.insert(i - 3, ",");
}

}  // namespace

int fail(const Error& error) {
  std::cerr << "fulcrum: " << printable(error.message()) << '\n';
  return exit_code(error.kind);
}

int cannot_look(const Error& error) {
  const int code = fail(error);
  return code == kInterrupted ? code : kBadInput;
}

void note(const std::string& where, const std::string& text) {
  std::cerr << "fulcrum: note: " << printable(where) << ": " << printable(text) << '\n';
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  const auto print_row = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      if (i == 0) {
        out << row[i] << (row.size() > 1 ? pad : "");
      } else {
        out << "  " << pad << row[i];
      }
    }
    out << '\n';
  };
  print_row(rows_.front());
  std::size_t total = 0;
  for (const auto width : widths) total += width + 2;
  out << std::string(total - 2, '-') << '\n';
  for (std::size_t i = 1; i < rows_.size(); ++i) print_row(rows_[i]);
}

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", std::max(0, digits - 1 - magnitude), value);
  std::string result = text;
  separate_thousands(result);
  return result;
}

Result<void> check_outputs(const std::vector<std::string>& paths) {
  int to_stdout = 0;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    if (path == "-") {
      if (++to_stdout > 1) {
        return bad_input("-", "two outputs cannot share standard output", "give one of them a file");
      }
      continue;
    }
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      return bad_input(path, "this is a directory, and a file is to be written", "add a file name");
    }
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (folder.empty()) folder = ".";
    if (::access(folder.c_str(), W_OK | X_OK) != 0) return os_error(errno, "write", path);
  }
  return {};
}

Result<void> write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text << '\n';
    return {};
  }
  return write_file_atomically(path, text + "\n");
}

std::ostream& table_stream(const std::string& json_path) {
  return json_path == "-" ? std::cerr : std::cout;
}

}  // namespace fulcrum::cli
