// Write-back to an array of turning disks that is a little too slow for its stream, in simulated time: what
// the size of a commit costs, where the array's time goes, and what is shed. The machine and its figures are
// those of tests/engine/write_back.h.
//
//   write_back_bench [SECONDS] [--json FILE]
//
// Ends with 1 where the engine misses 0.98 of what the array writes in order.
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/write_back.h"

namespace {

using namespace fulcrum;
using namespace fulcrum::test;

constexpr double kTarget = 0.98;
constexpr Seconds kLongWarmUp{240};
constexpr Bytes kSmallDisk{std::int64_t{320} << 30};
constexpr Seconds kFull{600};  // until it is

struct Trial {
  std::string name;
  WriteBackOptions options;
  WriteBackFigures figures;
};

Trial commits_of(std::int64_t blocks, Seconds length) {
  Trial run;
  run.options.commit = WriteBackOptions::kBlock * blocks;
  run.options.length = length;
  run.name = std::to_string(run.options.commit.value() >> 20) + " MiB";
  return run;
}

std::vector<Trial> sweep(Seconds length) {
  std::vector<Trial> runs;
  runs.push_back(commits_of(1, length));
  runs.back().name = "5 MiB, one at a time";
  runs.back().options.in_flight = WriteBackOptions::kBlock;
  for (const std::int64_t blocks : {1, 8, 32, 128, 512}) runs.push_back(commits_of(blocks, length));
  Trial chosen = commits_of(1, length);
  chosen.options.commit = chosen_commit();
  chosen.name = std::to_string(chosen.options.commit.value() >> 20) + " MiB, by the profile";
  runs.push_back(chosen);
  chosen.options.disk = kSmallDisk;
  chosen.options.warm_up = kFull;
  chosen.options.length = length * 4;
  chosen.name = "the same, array full";
  runs.push_back(chosen);
  return runs;
}

/// Longer, so that a few per cent of the chains are many.
std::vector<Trial> sheddings(Seconds length) {
  std::vector<Trial> runs(4);
  for (Trial& run : runs) {
    run.options.commit = chosen_commit();
    run.options.length = length * 4;
    run.options.warm_up = kLongWarmUp;
  }
  runs[0].name = "least value first";
  runs[1].name = "by lot (mutant)";
  runs[1].options.shed_by_lot = 0.03;
  runs[2].name = "least value first, stream x2";
  runs[2].options.offered *= 2;
  runs[3].name = "by lot, stream x2";
  runs[3].options.offered *= 2;
  runs[3].options.shed_by_lot = 0.52;
  return runs;
}

double share(const Trial& run, std::size_t entry) {
  return run.figures.ledger.seconds[entry] / run.options.length.value();
}

double shed_share(const WriteBackFigures& figures) {
  return figures.shed_blocks / figures.offered_blocks;
}

void print_sweep(const std::vector<Trial>& runs) {
  std::printf("A movement of the head takes %.1f ms. Shares of the array's time:\n%-23s %6s %6s %9s |",
              array_move().value() * 1e3, "commit", "alone", "engine", "MB/visit");
  for (const std::string_view name : ArrayLedger::kNames) std::printf(" %s", std::string(name).c_str());
  std::printf(" sum\n");
  for (const Trial& run : runs) {
    std::printf("%-23s %6.3f %6.3f %9.1f |", run.name.c_str(),
                bare_commits(run.options.commit) / WriteBackOptions::kIdeal, run.figures.ratio(),
                run.figures.between_visits() * 1e-6);
    for (std::size_t i = 0; i < ArrayLedger::kEntries; ++i) {
      std::printf(" %*.4f", static_cast<int>(std::max<std::size_t>(6, ArrayLedger::kNames[i].size())),
                  share(run, i));
    }
    std::printf(" %.4f\n", run.figures.ledger.sum() / run.options.length.value());
  }
}

void print_sheddings(const std::vector<Trial>& runs) {
  std::printf(
      "\nMilliseconds that a block saves when it is asked for again, means:\n%-29s %6s %7s %8s %8s %8s\n",
      "shed", "engine", "lost", "offered", "kept", "lost");
  for (const Trial& run : runs) {
    const WriteBackFigures& figures = run.figures;
    std::printf("%-29s %6.3f %6.2f%% %8.3f %8.3f %8.3f\n", run.name.c_str(), figures.ratio(),
                shed_share(figures) * 100, figures.value_offered * 1e3, figures.value_kept * 1e3,
                figures.value_shed * 1e3);
  }
}

std::string to_json(const Trial& run) {
  const WriteBackFigures& figures = run.figures;
  std::array<char, 640> out{};
  std::snprintf(out.data(), out.size(),
                "{\"name\": \"%s\", \"commit_bytes\": %lld, \"offered_Bps\": %.0f, \"alone\": %.4f, "
                "\"ratio\": %.4f, \"bytes_a_visit\": %.0f, \"lost_share\": %.4f, "
                "\"value_offered_s\": %.6f, \"value_kept_s\": %.6f, \"value_lost_s\": %.6f, \"ledger\": {",
                run.name.c_str(), static_cast<long long>(run.options.commit.value()), run.options.offered,
                bare_commits(run.options.commit) / WriteBackOptions::kIdeal, figures.ratio(),
                figures.between_visits(), shed_share(figures), figures.value_offered, figures.value_kept,
                figures.value_shed);
  std::string text = out.data();
  for (std::size_t i = 0; i < ArrayLedger::kEntries; ++i) {
    std::snprintf(out.data(), out.size(), "%s\"%s\": %.5f", i == 0 ? "" : ", ",
                  std::string(ArrayLedger::kNames[i]).c_str(), share(run, i));
    text += out.data();
  }
  return text + "}}";
}

std::string to_json(const std::vector<Trial>& runs) {
  std::string text = "[";
  for (const Trial& run : runs) text += (text.size() == 1 ? "\n  " : ",\n  ") + to_json(run);
  return text + "]";
}

int usage() {
  std::fprintf(stderr, "usage: write_back_bench [SECONDS] [--json FILE]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Seconds length(120);
  std::string json;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json" && i + 1 < argc) {
      json = argv[++i];
      continue;
    }
    double seconds = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), seconds);
    if (failed != std::errc() || end != word.data() + word.size() || !(seconds >= 1 && seconds < 1e6))
      return usage();
    length = Seconds(seconds);
  }
  std::vector<Trial> commits = sweep(length);
  for (Trial& run : commits) run.figures = write_back(run.options);
  print_sweep(commits);
  std::vector<Trial> sheds = sheddings(length);
  for (Trial& run : sheds) run.figures = write_back(run.options);
  print_sheddings(sheds);
  if (!json.empty()) {
    std::ofstream file(json);
    file << "{\"move_s\": " << array_move().value() << ", \"ideal_Bps\": " << WriteBackOptions::kIdeal
         << ",\n \"commits\": " << to_json(commits) << ",\n \"shedding\": " << to_json(sheds) << "}\n";
    if (!file.flush()) {
      std::fprintf(stderr, "write_back_bench: cannot write %s\n", json.c_str());
      return 2;
    }
  }
  const double best = commits[commits.size() - 2].figures.ratio();
  std::printf("\nat the commits that the engine chooses: %.3f of 692 MB/s (target %.2f)\n", best, kTarget);
  return best >= kTarget ? 0 : 1;
}
