#include "tiers/file_space.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "base/errors.h"

namespace fulcrum {

std::optional<Bytes> free_space(int descriptor) {
  struct statvfs room {};
  if (fstatvfs(descriptor, &room) != 0) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(room.f_bavail) * static_cast<std::int64_t>(room.f_frsize));
}

Error with_shortfall(Error error, int descriptor, Bytes needed) {
  if (error.kind != ErrorKind::no_space || error.os_error == EFBIG) return error;
  const std::optional<Bytes> free = free_space(descriptor);
  if (!free) return error;
  error.detail = "needs " + std::to_string(needed.value()) + " bytes, " + std::to_string(free->value()) +
                 " are free: " + std::to_string(std::max(needed - *free, Bytes(0)).value()) +
                 " bytes short (the filesystem needs some for itself)";
  return error;
}

Result<void> check_file_size(Bytes size, const std::string& doing, const std::string& directory) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(size.value())) return {};
  Error error = os_error(EFBIG, doing, directory);
  error.detail = "files may have " + std::to_string(limit.rlim_cur) + " bytes at most here";
  return error;
}

}  // namespace fulcrum
