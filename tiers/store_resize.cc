#include "tiers/store_resize.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errors.h"
#include "tiers/store_survey.h"

namespace fulcrum {

std::optional<Superblock> peek_superblock(const std::string& directory) {
  const int file = open(store_path(directory, 0).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  std::optional<Superblock> newest;
  for (const off_t at : {off_t{0}, static_cast<off_t>(kPage)}) {
    std::array<std::byte, kPage> page{};
    if (pread(file, page.data(), page.size(), at) != static_cast<ssize_t>(page.size())) continue;
    Result<Superblock> found = decode_superblock(page);
    if (found.has_error() || (newest && newest->sequence > found->sequence)) continue;
    newest = std::move(*found);
  }
  close(file);
  return newest;
}

Result<std::optional<ResizePlan>> plan_resize(const Superblock& found, const Namespace& name, Bytes row_bytes,
                                              Bytes capacity) {
  const FileLayout& own = found.layout;
  if (own.row_bytes != row_bytes || own.check().has_error()) return std::optional<ResizePlan>();
  if (!difference(found, superblock_for(name, own)).empty()) return std::optional<ResizePlan>();
  const Result<FileLayout> to = own.resized(capacity);
  if (to.has_error()) return to.error();
  return std::optional(ResizePlan{own, *to});
}

Result<void> remove_beyond(const std::string& directory, std::uint32_t segments) {
  const auto survey = StoreSurvey::of(directory);
  if (survey.has_error()) return survey.error();
  for (const StoreSurvey::File& file : survey->files) {
    if (file.index <= segments) continue;
    const std::string path = store_path(directory, file.index);
    // Who still has it open would keep its space.
    if (truncate(path.c_str(), 0) != 0 || unlink(path.c_str()) != 0) return os_error(errno, "remove", path);
  }
  return {};
}

}  // namespace fulcrum
