// JSON text made fit for the YAML parser.
#pragma once

#include <string>

namespace fulcrum {

/// JSON writes characters beyond U+FFFF as two escapes (a surrogate pair), which YAML does not know: each
/// pair becomes the character itself in UTF-8. Everything else stays as it is.
[[nodiscard]] std::string join_surrogates(const std::string& text);

}  // namespace fulcrum
