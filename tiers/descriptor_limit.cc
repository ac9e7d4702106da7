#include "tiers/descriptor_limit.h"

#include <dirent.h>
#include <sys/resource.h>

#include <memory>

#include "base/errors.h"

namespace fulcrum {
namespace {

// For what opens later in this process: a ring, a log, connections.
constexpr std::size_t kSpare = 32;

std::size_t open_descriptors() {
  std::size_t count = 0;
  // Not directory_iterator: that of libstdc++ ends the process where memory runs out.
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir("/proc/self/fd"), closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own
  while (open && readdir(open.get()) != nullptr) ++count;
  return count;
}

}  // namespace

Result<void> ensure_descriptors(std::size_t more, const std::string& directory) {
  const std::size_t need = open_descriptors() + more + kSpare;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need) return {};
  if (limit.rlim_max >= need) {
    limit.rlim_cur = need;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  }
  Error error = make_error(ErrorKind::file_limit, "open the files in", directory,
                           "this process needs " + std::to_string(need) + " file descriptors and may have " +
                               std::to_string(limit.rlim_max),
                           "raise the hard limit (ulimit -Hn, LimitNOFILE of the service), or lower the "
                           "capacity");
  error.scope = ErrorScope::process;
  return error;
}

}  // namespace fulcrum
