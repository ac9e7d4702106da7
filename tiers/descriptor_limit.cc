#include "tiers/descriptor_limit.h"

#include <sys/resource.h>

#include "base/errors.h"
#include "tiers/sys_file.h"

namespace fulcrum {
namespace {

// For what opens later in this process: a ring, a log, connections.
constexpr std::size_t kSpare = 32;

}  // namespace

Result<void> ensure_descriptors(std::size_t more, const std::string& directory) {
  const std::size_t need = names_in("/proc/self/fd").size() + more + kSpare;
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
