// Text that a terminal may be given: what files and arguments hold is shown, not obeyed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fulcrum::cli {

/// The place of the first byte that is a control character (other than tab and line feed) or no UTF-8; npos
/// where there is none.
[[nodiscard]] std::size_t first_unprintable(std::string_view text);
/// The text with each such byte written as \xNN.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace fulcrum::cli
