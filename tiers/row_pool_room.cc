#include "tiers/row_pool_room.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>

#include "tiers/sys_file.h"

namespace fulcrum {
namespace {

// Names of files are put together as texts: std::filesystem::path of libstdc++ 12 frees what it does not own
// where memory runs out in its operator/.

/// Names of one version of control groups.
struct Naming {
  std::string_view mount;  ///< below /sys/fs/cgroup
  const char* limit;
  const char* usage;
  std::string_view inactive;  ///< line of memory.stat
  std::string_view active;
};
constexpr Naming kVersion1{"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                           "total_active_file"};
constexpr Naming kVersion2{"", "memory.max", "memory.current", "inactive_file", "active_file"};

/// The number behind a word at the begin of a line: "MemAvailable:   123 kB", "inactive_file 456".
std::optional<std::int64_t> number_behind(const std::string& file, std::string_view word) {
  std::ifstream in(file);
  for (std::string name; in >> name; in.ignore(1 << 16, '\n')) {
    std::int64_t number = 0;
    if (name == word && in >> number) return number;
  }
  return std::nullopt;
}

std::optional<MemoryRoom> room_in(const std::string& directory, const Naming& naming,
                                  const std::string& group) {
  const std::optional<std::int64_t> limit = first_integer(directory + "/" + naming.limit);
  const std::optional<std::int64_t> usage = first_integer(directory + "/" + naming.usage);
  if (!limit || !usage) return std::nullopt;  // "max"
  const std::string stat = directory + "/memory.stat";
  const std::int64_t cached =
      number_behind(stat, naming.inactive).value_or(0) + number_behind(stat, naming.active).value_or(0);
  return MemoryRoom{Bytes(std::max<std::int64_t>(0, *limit - *usage + cached)),
                    std::string(naming.limit) + " of control group " + group};
}

/// Path of this process's group within one hierarchy: "0::/a/b" or "4:memory:/a/b".
std::optional<std::string> group_of_this_process(const std::string& root, const Naming& naming) {
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool ours =
        naming.mount.empty() ? controllers == ",," : controllers.find(",memory,") != std::string::npos;
    if (ours) return line.substr(second + 1);
  }
  return std::nullopt;
}

void tighten(std::optional<MemoryRoom>& room, std::optional<MemoryRoom> other) {
  if (other && (!room || other->free < room->free)) room = std::move(other);
}

}  // namespace

std::optional<MemoryRoom> memory_room(const std::string& root) {
  std::optional<MemoryRoom> room;
  if (const auto kibibytes = number_behind(root + "/proc/meminfo", "MemAvailable:")) {
    room = MemoryRoom{Bytes(*kibibytes << 10), "the machine's memory"};
  }
  for (const Naming& naming : {kVersion1, kVersion2}) {
    const std::optional<std::string> own = group_of_this_process(root, naming);
    if (!own) continue;
    const std::string mount = root + "/sys/fs/cgroup/" + std::string(naming.mount);
    // A limit binds all groups below it. Inside a container the own path may not be visible: its root is.
    for (std::string group = *own;; group.resize(group.rfind('/'))) {
      const std::string name = group.empty() ? "/" : group;
      tighten(room, room_in(mount + name, naming, name));
      if (group.find('/') == std::string::npos || name == "/") break;
    }
  }
  return room;
}

}  // namespace fulcrum
