// Small files of /sys: one line each, and empty where the system does not say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace fulcrum {

/// First line, without the blanks around it.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);
/// First line of the first of these files that says something.
[[nodiscard]] std::string first_said(const std::filesystem::path& directory,
                                     std::initializer_list<const char*> names);
/// The whole number that the first line is or begins with.
[[nodiscard]] std::optional<std::int64_t> first_integer(const std::filesystem::path& file);
/// What a directory holds, in no order. Not by directory_iterator: that of libstdc++ ends the process where
/// memory runs out.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& directory);

}  // namespace fulcrum
