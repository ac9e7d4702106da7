#include "tiers/disk_place.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>
#include <vector>

#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr std::uint32_t kBatch = 128;  // extents asked for at once
// A file of more pieces than this is spread over the disk anyway.
constexpr std::size_t kMostExtents = 65536;
// Bytes whose place is not settled, or is no place on the disk.
constexpr std::uint32_t kNowhere = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED |
                                   FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED;

Error not_said(const std::string& why) {
  return make_error(ErrorKind::unsupported, "find out where the file lies on its disk", "", why);
}

using Head = struct fiemap;

/// The kernel's question with room for its answers behind it.
class Question {
 public:
  explicit Question(std::uint64_t from) : head_(new (room_.data()) Head{}) {
    head_->fm_start = from;
    head_->fm_length = FIEMAP_MAX_OFFSET - from;
    head_->fm_flags = FIEMAP_FLAG_SYNC;
    head_->fm_extent_count = kBatch;
  }
  [[nodiscard]] bool ask(int descriptor) { return ioctl(descriptor, FS_IOC_FIEMAP, head_) == 0; }
  [[nodiscard]] std::span<const struct fiemap_extent> answers() const {
    return {head_->fm_extents, head_->fm_mapped_extents};
  }

  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

 private:
  alignas(struct fiemap)
      std::array<std::byte, sizeof(struct fiemap) + kBatch * sizeof(struct fiemap_extent)> room_{};
  struct fiemap* head_;
};

Result<std::vector<FileExtent>> extents_of(int descriptor) {
  std::vector<FileExtent> extents;
  std::uint64_t from = 0;
  for (bool last = false; !last && extents.size() < kMostExtents;) {
    Question question(from);
    if (!question.ask(descriptor))
      return not_said("the filesystem does not say: " + std::generic_category().message(errno));
    if (question.answers().empty()) break;
    for (const struct fiemap_extent& extent : question.answers()) {
      if ((extent.fe_flags & kNowhere) != 0) return not_said("the filesystem has not settled its place");
      extents.push_back({Bytes(static_cast<std::int64_t>(extent.fe_physical)),
                         Bytes(static_cast<std::int64_t>(extent.fe_length))});
      from = extent.fe_logical + extent.fe_length;
      last = last || (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0;
    }
  }
  return extents;
}

}  // namespace

Result<DiskPlace> place_of(std::span<const FileExtent> extents, const BlockDevice& device) {
  if (device.mapped) return not_said("'" + device.name + "' is made of other devices");
  if (extents.empty() || !(device.size > Bytes(0))) return not_said("the system does not say");
  DiskPlace place;
  place.disk = device.size;
  place.pieces = static_cast<int>(extents.size());
  place.first = device.size;
  double weighted = 0;
  double bytes = 0;
  for (const FileExtent& extent : extents) {
    const Bytes begin = device.begin + extent.at;
    place.first = std::min(place.first, begin);
    place.last = std::max(place.last, begin + extent.length);
    const auto length = static_cast<double>(extent.length.value());
    weighted += (static_cast<double>(begin.value()) + length / 2) * length;
    bytes += length;
  }
  if (place.last > device.size || !(bytes > 0)) return not_said("the extents do not fit the disk");
  place.middle = Bytes(static_cast<std::int64_t>(weighted / bytes));
  return place;
}

Result<DiskPlace> disk_place(int descriptor, const std::string& sys) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) return os_error(errno, "look at", "scratch file");
  const auto device = find_block_device(facts.st_dev, sys);
  if (!device) return not_said("no block device holds it");
  const auto extents = extents_of(descriptor);
  if (extents.has_error()) return extents.error();
  return place_of(*extents, *device);
}

}  // namespace fulcrum
