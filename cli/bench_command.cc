#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "base/quantity_text.h"
#include "cli/bench_io.h"
#include "cli/bench_output.h"
#include "cli/commands.h"
#include "cli/example_profile.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

namespace fulcrum::cli {
namespace {

constexpr Bytes kBlock{std::int64_t{2} << 20};
constexpr std::int64_t kBlockSmall = std::int64_t{128} << 10;
constexpr std::int64_t kBlockLarge = std::int64_t{32} << 20;
constexpr Bytes kBytes{std::int64_t{2} << 30};
constexpr Bytes kBytesQuick{std::int64_t{256} << 20};
constexpr std::int64_t kBlocksLeast = 32;
constexpr std::size_t kStoresQuick = 3'000;
constexpr int kGate = 4;  // where no profile says better

struct BenchOptions {
  std::string directory;
  std::string json;
  std::string profile;
  std::string block;
  std::string bytes;
  int rounds = 5;
  bool quick = false;
};

Result<Bytes> size_in(const std::string& name, const std::string& text, Bytes fallback) {
  if (text.empty()) return fallback;
  const auto plain = scalar_integer(text);
  const auto size = plain ? std::optional(Bytes(*plain)) : parse_bytes(text);
  if (!size || *size <= Bytes(0) || size->value() % 4096 != 0) {
    return bad_input(name, "'" + text + "' is no size in whole pages",
                     "give a multiple of 4096 bytes, e.g. 2MiB");
  }
  return *size;
}

/// Costs of the first tier that is no memory; those of the example where no profile is given.
Result<void> read_profile(const BenchOptions& options, BenchIoOptions& io) {
  auto profile = options.profile.empty()
                     ? MachineProfile::parse(std::string(kExampleProfile), kExampleProfileName)
                     : MachineProfile::load(options.profile);
  if (!profile) return profile.error();
  auto example = MachineProfile::parse(std::string(kExampleProfile), kExampleProfileName);
  if (!example) return example.error();
  for (const TierProfile& tier : profile->tiers) {
    if (tier.medium == Medium::dram) continue;
    io.profile = *profile;
    if (!io.profile.prefill) io.profile.prefill = example->prefill;  // loads are not judged here
    io.tier = tier.name;
    io.gate = options.profile.empty() ? kGate : 0;
    return {};
  }
  return bad_input(options.profile, "it has no tier of files", "calibrate with --path DIR");
}

Result<BenchIoOptions> io_options(const BenchOptions& options) {
  BenchIoOptions io;
  std::error_code failed;
  if (!std::filesystem::is_directory(options.directory, failed)) {
    return bad_input("--dir", "'" + options.directory + "' is no directory",
                     "name a directory on the drive that is to be measured");
  }
  io.directory = options.directory;
  const auto block = size_in("--block", options.block, kBlock);
  if (!block) return block.error();
  const auto bytes = size_in("--bytes", options.bytes, options.quick ? kBytesQuick : kBytes);
  if (!bytes) return bytes.error();
  io.block = *block;
  io.bytes = *bytes;
  io.rounds = options.rounds;
  if (options.quick) io.stores = kStoresQuick;
  if (auto read = read_profile(options, io); !read) return read.error();
  return io;
}

/// The block sizes that are measured, the one that the headline is about first.
std::vector<Bytes> blocks_of(const BenchOptions& options, const BenchIoOptions& io) {
  std::vector<Bytes> blocks = {io.block};
  if (options.quick || !options.block.empty()) return blocks;
  for (const std::int64_t other : {kBlockSmall, kBlockLarge}) {
    if (io.bytes.value() / other >= kBlocksLeast) blocks.emplace_back(other);
  }
  return blocks;
}

Result<void> check_room(const BenchIoOptions& io, const std::vector<Bytes>& blocks) {
  Bytes most{};
  for (const Bytes block : blocks) {
    if (io.bytes.value() / block.value() < kBlocksLeast) {
      return bad_input("--bytes", format(io.bytes) + " are fewer than 32 blocks of " + format(block),
                       "raise --bytes or lower --block");
    }
    most = std::max(most, bench_io_space(block, io.bytes));
  }
  std::error_code failed;
  const auto space = std::filesystem::space(io.directory, failed);
  if (failed) return os_error(failed.value(), "look at the space of", io.directory);
  const Bytes free(static_cast<std::int64_t>(space.available));
  if (free >= most) return {};
  return make_error(ErrorKind::no_space, "bench", io.directory,
                    "it needs " + format(most) + " and " + format(free) + " are free",
                    "lower --bytes, or choose another directory");
}

void tell(const std::string& what) {
  if (isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "\r%s\033[K", what.c_str());
  } else {
    std::fprintf(stderr, "%s\n", what.c_str());
  }
}

Result<BenchReport> measure(const BenchIoOptions& io, const std::vector<Bytes>& blocks) {
  const StopSignal stop;
  BenchReport report;
  report.directory = io.directory;
  report.bytes = io.bytes;
  for (const Bytes block : blocks) {
    BenchIoOptions one = io;
    one.block = block;
    auto row = measure_io(one, stop.raised(), tell);
    if (!row) return row.error();
    report.rows.push_back(std::move(*row));
  }
  tell("storing beside a device that does not answer");
  auto stall = measure_stall(io, stop.raised());
  if (!stall) return stall.error();
  report.stall = *stall;
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
  return report;
}

int run(const BenchOptions& options) {
  if (auto writable = check_outputs({options.json}); !writable) return fail(writable.error());
  const auto io = io_options(options);
  if (!io) return fail(io.error());
  const std::vector<Bytes> blocks = blocks_of(options, *io);
  if (auto room = check_room(*io, blocks); !room) return fail(room.error());
  const auto report = measure(*io, blocks);
  if (!report) return fail(report.error());
  print_bench(table_stream(options.json), *report);
  if (options.json.empty()) return kOk;
  const auto written = write_text(options.json, bench_json(*report));
  return written ? kOk : fail(written.error());
}

}  // namespace

void add_bench(CLI::App& program, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* bench = program.add_subcommand("bench", "Measure Fulcrum itself on this machine");
  bench->require_subcommand(1);
  CLI::App* command = bench->add_subcommand("io", "The engine against the best bare loop on the same drive");
  command->add_option("--dir", options->directory, "Directory on the drive; a scratch store is made in it")
      ->required();
  command->add_option("--json", options->json, "Also write the figures to this file; - for standard output");
  command->add_flag("--quick", options->quick, "Less data, one block size");
  command->add_option("--block", options->block,
                      "Only this block size, e.g. 2MiB (usual: 2 MiB, 128 KiB, 32 MiB)");
  command->add_option("--bytes", options->bytes, "Size of the long reload (usual: 2 GiB; --quick: 256 MiB)");
  command->add_option("--profile", options->profile,
                      "Profile of this machine: its I/O setting is tried, its gate is used");
  command->add_option("--rounds", options->rounds, "Rounds of interleaved runs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->footer(
      "Writes about 2.5 times --bytes at once into a directory of its own and removes it, also after "
      "Ctrl-C.\n"
      "Nothing else in DIR is touched. Reference patterns are written from the description of how caches\n"
      "with a file for each block read; they are nobody's code.");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fulcrum::cli
