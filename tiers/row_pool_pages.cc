#include "tiers/row_pool_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace fulcrum {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kThreadShare = std::size_t{256} << 20;  // below it a thread costs more than it saves
constexpr std::size_t kThreadsMax = 16;

// Kernels before 5.14 do not know MADV_POPULATE_WRITE.
int populate_part(std::span<std::byte> part) {
  if (madvise(part.data(), part.size(), MADV_POPULATE_WRITE) == 0) return 0;
  if (errno != EINVAL) return errno;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < part.size(); at += page) {
    *static_cast<volatile std::byte*>(part.data() + at) = std::byte{0};
  }
  return 0;
}

/// "7f0000000000-7f0000200000 rw-p ...": the line that begins with this address.
bool begins_mapping(const std::string& line, const std::byte* address) {
  std::ostringstream begin;
  begin << std::hex << reinterpret_cast<std::uintptr_t>(address) << '-';
  return line.starts_with(begin.str());
}

}  // namespace

int populate(std::span<std::byte> memory) {
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t threads =
      std::clamp(memory.size() / kThreadShare, std::size_t{1}, std::min(processors, kThreadsMax));
  const std::size_t share = (memory.size() / threads + kHugePage - 1) / kHugePage * kHugePage;
  std::vector<int> codes(threads);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads && i * share < memory.size(); ++i) {
    const auto part = memory.subspan(i * share, std::min(share, memory.size() - i * share));
    others.emplace_back([part, &code = codes[i]] { code = populate_part(part); });
  }
  codes[0] = populate_part(memory.first(std::min(share, memory.size())));
  for (std::thread& other : others) other.join();
  const auto failed = std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
  return failed == codes.end() ? 0 : *failed;
}

double huge_share(std::span<const std::byte> memory) {
  std::ifstream in("/proc/self/smaps");
  std::string line;
  while (std::getline(in, line) && !begins_mapping(line, memory.data())) {
  }
  std::int64_t kibibytes = 0;
  while (std::getline(in, line) && line.find(':') < line.find(' ')) {
    std::istringstream words(line);
    std::string name;
    std::int64_t size = 0;
    if (words >> name >> size && (name == "AnonHugePages:" || name == "ShmemPmdMapped:")) kibibytes += size;
  }
  return static_cast<double>(kibibytes) * 1024 / static_cast<double>(memory.size());
}

}  // namespace fulcrum
