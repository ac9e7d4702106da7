// What map_reader.cc and map_reader_nested.cc share.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"

namespace fulcrum {

/// What was found, in words, for "wants X, got Y".
[[nodiscard]] std::string found(const Node& node);

/// "tiers[0]" and "name" -> "tiers[0].name".
[[nodiscard]] std::string key_path(const std::string& path, std::string_view key);

/// A map without fields, for readers of what is not there.
[[nodiscard]] const Node& empty_map();

}  // namespace fulcrum
