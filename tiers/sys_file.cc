#include "tiers/sys_file.h"

#include <dirent.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <system_error>

namespace fulcrum {

std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t") - begin + 1);
}

std::string first_said(const std::filesystem::path& directory, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string said = first_line(directory / name); !said.empty()) return said;
  }
  return {};
}

std::optional<std::int64_t> first_integer(const std::filesystem::path& file) {
  const std::string line = first_line(file);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (code != std::errc() || end == line.data()) return std::nullopt;
  return value;
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own
  while (const dirent* entry = open ? readdir(open.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace fulcrum
