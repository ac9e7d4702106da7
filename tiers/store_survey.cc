#include "tiers/store_survey.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr std::size_t kDigits = 6;
constexpr std::int64_t kSector = 512;  // what st_blocks counts in

/// Nothing where no such file exists.
Result<std::optional<StoreSurvey::File>> look_at(const std::string& directory, std::size_t index) {
  const std::string path = store_path(directory, index);
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return std::optional<StoreSurvey::File>();
    return os_error(errno, "look at", path);
  }
  if (!S_ISREG(facts.st_mode)) {
    return bad_input(path, "is no regular file", "move it away, or choose another directory");
  }
  return std::optional(StoreSurvey::File{index, Bytes(facts.st_size), Bytes(facts.st_blocks * kSector)});
}

std::optional<std::size_t> index_of(const std::string& name) {
  const bool number =
      name.size() == kDigits && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  if (!number) return std::nullopt;
  return std::size_t{1} + std::stoul(name);
}

/// Adds the numbers of the files in a directory. An errno, or 0. By the system's calls: directory_iterator of
/// libstdc++ ends the process where memory runs out.
int list(const std::string& directory, std::vector<std::size_t>& indices) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open) return errno;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (entry == nullptr) return errno;
    if (const auto index = index_of(entry->d_name)) indices.push_back(*index);
  }
}

}  // namespace

std::string store_path(const std::string& directory, std::size_t index) {
  if (index == 0) return directory + "/meta";
  std::string number = std::to_string(index - 1);
  if (number.size() < kDigits) number.insert(0, kDigits - number.size(), '0');
  return directory + "/segments/" + number;
}

Result<StoreSurvey> StoreSurvey::of(const std::string& directory) {
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0) return os_error(errno, "open the store in", directory);
  if (!S_ISDIR(facts.st_mode)) return os_error(ENOTDIR, "open the store in", directory);
  std::vector<std::size_t> indices = {0};
  if (const int failed = list(directory + "/segments", indices); failed != 0 && failed != ENOENT) {
    return os_error(failed, "list", directory + "/segments");
  }
  std::ranges::sort(indices);
  StoreSurvey survey;
  for (const std::size_t index : indices) {
    const auto file = look_at(directory, index);
    if (file.has_error()) return file.error();
    if (*file) survey.files.push_back(**file);
  }
  return survey;
}

Bytes StoreSurvey::allocated() const {
  Bytes sum{};
  for (const File& file : files) sum += file.allocated;
  return sum;
}

std::string StoreSurvey::misfit(Bytes head, Bytes piece, std::size_t pieces) const {
  std::size_t fitting = 0;
  std::string other;
  for (const File& file : files) {
    const Bytes wanted = file.index == 0 ? head : piece;
    const std::string name = store_path("", file.index).substr(1);
    if (file.size == Bytes(0) || (file.index > pieces && file.allocated == Bytes(0))) continue;
    if (file.index > pieces)
      return name + " is in use, and the layout has " + std::to_string(pieces) + " segments";
    fitting += file.size == wanted ? 1U : 0U;
    if (file.size != wanted) {
      other = name + " has " + std::to_string(file.size.value()) + " bytes, and " +
              std::to_string(wanted.value()) + " in this layout";
    }
    if (file.size > wanted) return other;
  }
  return fitting == 0 ? other : std::string();
}

}  // namespace fulcrum
