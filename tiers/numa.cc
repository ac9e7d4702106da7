#include "tiers/numa.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/errors.h"
#include "tiers/sys_file.h"

namespace fulcrum {
namespace {

namespace fs = std::filesystem;

constexpr int kMostProcessors = 4096;

/// A processor set of any size: the fixed cpu_set_t ends at 1024.
class ProcessorSet {
 public:
  ProcessorSet() : set_(CPU_ALLOC(kMostProcessors)), size_(CPU_ALLOC_SIZE(kMostProcessors)) {
    CPU_ZERO_S(size_, set_);
  }
  ~ProcessorSet() { CPU_FREE(set_); }
  ProcessorSet(const ProcessorSet&) = delete;
  ProcessorSet& operator=(const ProcessorSet&) = delete;

  void add(int processor) { CPU_SET_S(static_cast<std::size_t>(processor), size_, set_); }
  [[nodiscard]] std::vector<int> list() const {
    std::vector<int> found;
    for (int i = 0; i < kMostProcessors; ++i) {
      if (CPU_ISSET_S(static_cast<std::size_t>(i), size_, set_)) found.push_back(i);
    }
    return found;
  }
  bool get() { return sched_getaffinity(0, size_, set_) == 0; }
  [[nodiscard]] bool put() const { return sched_setaffinity(0, size_, set_) == 0; }

 private:
  cpu_set_t* set_;
  std::size_t size_;
};

bool run_on(const std::vector<int>& processors) {
  ProcessorSet set;
  for (const int processor : processors) set.add(processor);
  return set.put();
}

std::optional<int> whole_number(const std::string& text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = code == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && number < kMostProcessors ? std::optional(number) : std::nullopt;
}

/// "Node 1 MemTotal:       16303412 kB"
Bytes memory_in(const fs::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto at = line.find("MemTotal:");
    if (at == std::string::npos) continue;
    std::int64_t kibibytes = 0;
    std::istringstream(line.substr(line.find(':') + 1)) >> kibibytes;
    return Bytes(kibibytes << 10);
  }
  return {};
}

/// "10 21"
std::vector<int> distances_in(const fs::path& file) {
  std::istringstream in(first_line(file));
  return {std::istream_iterator<int>(in), std::istream_iterator<int>()};
}

}  // namespace

std::vector<int> number_list(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto dash = part.find('-');
    const auto first = whole_number(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : whole_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return {};
    for (int number = *first; number <= *last; ++number) numbers.push_back(number);
  }
  return numbers;
}

std::vector<NumaNode> numa_nodes(const std::string& sys) {
  const fs::path root = fs::path(sys) / "devices/system/node";
  std::vector<NumaNode> nodes;
  for (const int id : number_list(first_line(root / "online"))) {
    const fs::path node = root / ("node" + std::to_string(id));
    nodes.push_back({id, number_list(first_line(node / "cpulist")), memory_in(node / "meminfo"),
                     distances_in(node / "distance")});
  }
  return nodes;
}

Result<NodePin> NodePin::create(const NumaNode& node) {
  const std::string where = "NUMA node " + std::to_string(node.id);
  ProcessorSet allowed;
  if (!allowed.get()) return os_error(errno, "read the processors of this thread for", where);
  std::vector<int> before = allowed.list();
  std::vector<int> own;
  std::set_intersection(before.begin(), before.end(), node.processors.begin(), node.processors.end(),
                        std::back_inserter(own));
  if (own.empty()) {
    return make_error(ErrorKind::not_found, "stay on", where, "this process may use none of its processors",
                      "widen its processor set (taskset, cpuset) or measure without");
  }
  if (!run_on(own)) return os_error(errno, "stay on", where);
  return NodePin(std::move(before));
}

NodePin::NodePin(NodePin&& other) noexcept : before_(std::exchange(other.before_, {})) {}

NodePin::~NodePin() {
  if (!before_.empty()) run_on(before_);
}

std::optional<int> node_of(const std::byte* address) {
  const auto page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // The kernel wants the page's first byte, and without target nodes it only looks.
  auto page = reinterpret_cast<std::uintptr_t>(address) / page_size * page_size;
  int node = -1;
  if (syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &node, 0) != 0 || node < 0) return std::nullopt;
  return node;
}

}  // namespace fulcrum
