// One table: errno -> kind, scope, whether to retry, and what to tell the operator.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fulcrum/result.h"

namespace fulcrum {

struct ErrnoRow {
  int code;
  std::string_view name;
  ErrorKind kind;
  ErrorScope scope;
  bool retryable;
  std::string_view next_step;
};

/// Every errno that Fulcrum tells apart, one row each.
[[nodiscard]] std::span<const ErrnoRow> errno_table();
[[nodiscard]] std::string_view to_string(ErrorKind kind);

/// The Error for a failed system call. An errno without a row is ErrorKind::internal.
[[nodiscard]] Error os_error(int code, std::string operation, std::string where);
/// The Error for something that the user gave.
[[nodiscard]] Error bad_input(std::string where, std::string detail, std::string next_step = {});
[[nodiscard]] Error make_error(ErrorKind kind, std::string operation, std::string where, std::string detail,
                               std::string next_step = {});

}  // namespace fulcrum
