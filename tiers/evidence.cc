// What really happened below a file: counters of the device and of the process, and page residency.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tiers/mount.h"

namespace fulcrum {
namespace {

// The block layer counts in sectors of 512 bytes, whatever the drive's own sector is.
constexpr std::int64_t kSector = 512;
// One window of the file is mapped at a time: 1 GiB is 256 Ki pages, a vector of 256 KiB.
constexpr std::int64_t kWindow = std::int64_t{1} << 30;

}  // namespace

std::optional<DeviceTraffic> device_traffic(const std::string& stat_path) {
  // Fields: read I/Os, merges, sectors, ms; write I/Os, merges, sectors, ms; ...
  std::ifstream in(stat_path);
  std::int64_t skipped = 0;
  std::int64_t read_sectors = 0;
  std::int64_t written_sectors = 0;
  in >> skipped >> skipped >> read_sectors >> skipped >> skipped >> skipped >> written_sectors;
  if (!in) return std::nullopt;
  return DeviceTraffic{Bytes(read_sectors * kSector), Bytes(written_sectors * kSector)};
}

std::optional<DeviceTraffic> process_traffic(const std::string& proc) {
  std::ifstream in(proc + "/self/io");
  std::optional<std::int64_t> read;
  std::optional<std::int64_t> written;
  std::string key;
  std::int64_t value = 0;
  while (in >> key >> value) {
    if (key == "read_bytes:") read = value;
    if (key == "write_bytes:") written = value;
  }
  if (!read || !written) return std::nullopt;
  return DeviceTraffic{Bytes(*read), Bytes(*written)};
}

std::optional<double> resident_share(int descriptor, Bytes size) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> states;
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  for (std::int64_t offset = 0; offset < size.value(); offset += kWindow) {
    const auto length = static_cast<std::size_t>(std::min(kWindow, size.value() - offset));
    void* window = mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, offset);
    if (window == MAP_FAILED) return std::nullopt;
    states.assign((length + static_cast<std::size_t>(page) - 1) / static_cast<std::size_t>(page), 0);
    const bool answered = mincore(window, length, states.data()) == 0;
    munmap(window, length);
    if (!answered) return std::nullopt;
    pages += static_cast<std::int64_t>(states.size());
    resident += std::count_if(states.begin(), states.end(), [](unsigned char s) { return (s & 1U) != 0; });
  }
  return pages == 0 ? 0.0 : static_cast<double>(resident) / static_cast<double>(pages);
}

}  // namespace fulcrum
