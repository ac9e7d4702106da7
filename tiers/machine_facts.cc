#include "tiers/machine_facts.h"

#include <sched.h>
#include <sys/utsname.h>

#include <fstream>

namespace fulcrum {
namespace {

/// The value of "key : value" in a file of such lines.
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto start = line.find_first_not_of(" \t:", key.size());
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return {};
}

Bytes kibibytes(const std::string& text) {
  std::int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    number = number * 10 + (c - '0');
  }
  return Bytes(number << 10);
}

}  // namespace

MachineFacts machine_facts(const std::string& proc, const std::string& sys) {
  MachineFacts facts;
  utsname system{};
  if (uname(&system) == 0)
    facts.kernel = std::string(system.sysname) + " " + system.release + " " + system.machine;
  facts.cpu = value_of(proc + "/cpuinfo", "model name");
  facts.memory = kibibytes(value_of(proc + "/meminfo", "MemTotal"));
  facts.memory_available = kibibytes(value_of(proc + "/meminfo", "MemAvailable"));
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) == 0) facts.cores = CPU_COUNT(&mine);
  std::ifstream governor(sys + "/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  governor >> facts.governor;
  facts.nodes = numa_nodes(sys);
  return facts;
}

}  // namespace fulcrum
