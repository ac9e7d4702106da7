#include "cli/output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <ostream>

#include "base/atomic_file.h"

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
  std::cerr << "fulcrum: " << error.message() << '\n';
  return exit_code(error.kind);
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

Result<void> write_json(const std::string& path, const std::string& json) {
  if (path == "-") {
    std::cout << json << '\n';
    return {};
  }
  return write_file_atomically(path, json + "\n");
}

}  // namespace fulcrum::cli
