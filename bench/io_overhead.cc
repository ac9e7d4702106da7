// What FileDevice costs beside a bare io_uring loop: same file, same offsets, same sizes and depths.
//
//   io_overhead [--path DIR] [--size BYTES] [--repeats N] [--buffered] [--json FILE]
//
// The bare loop is the leanest we can write: registered file and buffers, one thread, submission and waiting
// in one system call, completions reaped in batches. Runs alternate; the ratio of a cell is the median over
// pairs of device rate to bare rate (target: 0.97). Where the drive is the limit, both wait for it; CPU time
// for each request shows what is left. --buffered reads from the page cache, where the processor is the
// limit.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "bench/bare_ring.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_device.h"

namespace fulcrum::bench {
namespace {

constexpr std::array<std::size_t, 4> kSizes = {4096, 131072, 524288, 2097152};
constexpr std::array<std::size_t, 4> kDepths = {1, 4, 16, 64};
constexpr double kRunSeconds = 0.12;
constexpr std::uint64_t kSeed = 7;

struct Arguments {
  std::string path = ".";
  std::int64_t size = std::int64_t{256} << 20;
  int repeats = 7;
  bool buffered = false;
  std::string json;
};

struct Run {
  double seconds = 0;
  double cpu_seconds = 0;
};

struct Cell {
  std::size_t io_size = 0;
  std::size_t depth = 0;
  double device_rate = 0;  ///< bytes per second, median
  double bare_rate = 0;
  double ratio = 0;       ///< median over pairs
  double device_cpu = 0;  ///< seconds for each request, median
  double bare_cpu = 0;
};

template <class T>
T must(Result<T> result) {
  if (result.has_error()) stop(result.error().message());
  return std::move(*result);
}

void must(const Result<void>& result) {
  if (result.has_error()) stop(result.error().message());
}

double thread_cpu() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <class Work>
Run timed(Work work) {
  const SteadyClock clock;
  const double cpu = thread_cpu();
  const Seconds start = clock.now();
  work();
  return {(clock.now() - start).value(), thread_cpu() - cpu};
}

void read_through_device(FileDevice& device, AlignedBuffer& memory, std::size_t io_size, std::size_t depth,
                         std::span<const std::int64_t> offsets) {
  std::array<IoCompletion, 64> done;
  std::size_t next = 0;
  const auto start = [&](std::size_t slot) {
    must(device.submit({IoKind::read, offsets[next++], slot_of(memory, io_size, slot), slot}));
  };
  for (std::size_t slot = 0; slot < depth && next < offsets.size(); ++slot) start(slot);
  while (device.in_flight() > 0) {
    const std::size_t count = must(device.poll(done, Seconds(10)));
    if (count == 0) stop("no answer in 10 s");
    for (std::size_t i = 0; i < count; ++i) {
      must(done[i].result);
      if (next < offsets.size()) start(done[i].tag);
    }
  }
}

/// A second descriptor of the device's unnamed file, so that both loops read the same blocks.
int same_file(const std::string& directory, bool direct) {
  const std::string prefix = std::filesystem::canonical(directory).string() + "/";
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    const std::string target = std::filesystem::read_symlink(entry.path(), failed).string();
    if (!target.starts_with(prefix) || target.find("(deleted)") == std::string::npos) continue;
    return open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
  }
  return -1;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Cell measure(FileDevice& device, int file, std::size_t io_size, std::size_t depth,
             const Arguments& arguments) {
  AlignedBuffer memory = must(AlignedBuffer::allocate(io_size * depth));
  must(device.register_buffers(memory.span()));
  BareRing ring(file, memory.span());
  Random random(kSeed + io_size + depth);
  const auto places = static_cast<std::uint64_t>(arguments.size) / io_size;
  std::vector<std::int64_t> offsets(depth * 4);
  const auto draw = [&] {
    for (std::int64_t& offset : offsets) offset = static_cast<std::int64_t>(random.below(places) * io_size);
  };
  const auto through_device = [&] {
    return timed([&] { read_through_device(device, memory, io_size, depth, offsets); });
  };
  const auto bare = [&] { return timed([&] { ring.read(memory, io_size, depth, offsets); }); };

  draw();
  through_device();
  const double share = kRunSeconds / std::max(bare().seconds, 1e-6);
  offsets.resize(
      std::max<std::size_t>(depth * 2, static_cast<std::size_t>(share * static_cast<double>(depth * 4))));

  std::vector<double> device_rates, bare_rates, ratios, device_cpu, bare_cpu;
  const auto count = static_cast<double>(offsets.size());
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    draw();
    const bool device_first = repeat % 2 == 0;
    const Run first = device_first ? through_device() : bare();
    const Run second = device_first ? bare() : through_device();
    const Run& own = device_first ? first : second;
    const Run& other = device_first ? second : first;
    const double bytes = count * static_cast<double>(io_size);
    device_rates.push_back(bytes / own.seconds);
    bare_rates.push_back(bytes / other.seconds);
    ratios.push_back(other.seconds / own.seconds);
    device_cpu.push_back(own.cpu_seconds / count);
    bare_cpu.push_back(other.cpu_seconds / count);
  }
  must(device.register_buffers({}));
  return {
      io_size,         depth, median(device_rates), median(bare_rates), median(ratios), median(device_cpu),
      median(bare_cpu)};
}

void fill(FileDevice& device, std::int64_t size) {
  constexpr std::int64_t kChunk = std::int64_t{4} << 20;
  AlignedBuffer memory = must(AlignedBuffer::allocate(kChunk));
  Random random(kSeed);
  for (std::int64_t offset = 0; offset < size; offset += kChunk) {
    random.fill(memory.span());
    must(device.submit({IoKind::write, offset, memory.span(), 0}));
    IoCompletion done;
    if (must(device.poll({&done, 1}, Seconds(60))) != 1) stop("no answer in 60 s");
    must(done.result);
  }
  must(device.sync());
}

void print(const Cell& cell) {
  std::printf("%8zu KiB  %5zu  %9.3f  %9.3f  %6.3f  %10.2f  %8.2f\n", cell.io_size >> 10, cell.depth,
              cell.device_rate * 1e-9, cell.bare_rate * 1e-9, cell.ratio, cell.device_cpu * 1e6,
              cell.bare_cpu * 1e6);
  std::fflush(stdout);
}

void write_json(const std::string& path, const std::vector<Cell>& cells, double ratio_median, bool direct) {
  std::ofstream out(path);
  out << "{\"direct\": " << (direct ? "true" : "false") << ", \"ratio_median\": " << ratio_median
      << ", \"cells\": [";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    out << (i == 0 ? "" : ",") << "\n  {\"io_bytes\": " << cell.io_size << ", \"depth\": " << cell.depth
        << ", \"device_Bps\": " << cell.device_rate << ", \"bare_Bps\": " << cell.bare_rate
        << ", \"ratio\": " << cell.ratio << ", \"device_cpu_s\": " << cell.device_cpu
        << ", \"bare_cpu_s\": " << cell.bare_cpu << "}";
  }
  out << "\n]}\n";
  if (!out.flush()) stop("cannot write " + path);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--buffered") {
      arguments.buffered = true;
      continue;
    }
    if (i + 1 == argc)
      stop("usage: io_overhead [--path DIR] [--size BYTES] [--repeats N] [--buffered] [--json FILE]");
    const std::string value = argv[++i];
    if (name == "--path")
      arguments.path = value;
    else if (name == "--size")
      arguments.size = std::strtoll(value.c_str(), nullptr, 10);
    else if (name == "--repeats")
      arguments.repeats = static_cast<int>(std::strtol(value.c_str(), nullptr, 10));
    else if (name == "--json")
      arguments.json = value;
    else
      stop("unknown option " + name);
  }
  if (arguments.repeats < 1) stop("--repeats must be at least 1");
  if (arguments.size < 16 << 20 || arguments.size % (4 << 20) != 0) {
    stop("--size must be a multiple of 4 MiB (4194304), 16 MiB or more");
  }
  return arguments;
}

int run(const Arguments& arguments) {
  const auto device = must(FileDevice::open(
      arguments.path, {.size = Bytes(arguments.size),
                       .direct = arguments.buffered ? DirectChoice::buffered : DirectChoice::automatic,
                       .engine = EngineChoice::uring}));
  const bool direct = device->mode().direct;
  const int file = same_file(arguments.path, direct);
  if (file < 0) stop("cannot find the device's file in /proc/self/fd");
  fill(*device, arguments.size);

  std::printf("reads of one file in %s, %s, %d pairs a cell\n", arguments.path.c_str(),
              direct ? "O_DIRECT" : "page cache", arguments.repeats);
  std::printf("    I/O size  depth   device GB/s  bare GB/s  ratio  device us  bare us  (CPU a request)\n");
  std::vector<Cell> cells;
  std::vector<double> ratios;
  for (const std::size_t io_size : kSizes) {
    for (const std::size_t depth : kDepths) {
      cells.push_back(measure(*device, file, io_size, depth, arguments));
      ratios.push_back(cells.back().ratio);
      print(cells.back());
    }
  }
  const double overall = median(ratios);
  std::printf("median ratio %.3f, worst %.3f (target 0.97)\n", overall,
              *std::min_element(ratios.begin(), ratios.end()));
  if (!arguments.json.empty()) write_json(arguments.json, cells, overall, direct);
  close(file);
  return 0;
}

}  // namespace
}  // namespace fulcrum::bench

int main(int argc, char** argv) {
  try {
    return fulcrum::bench::run(fulcrum::bench::parse(argc, argv));
  } catch (const std::exception& stopped) {
    std::fprintf(stderr, "io_overhead: %s\n", stopped.what());
    return 2;
  }
}
