#include "calibrate/probe_plan.h"

#include <algorithm>
#include <cstdio>

#include "base/document.h"
#include "base/errors.h"

namespace fulcrum::calibrate {
namespace {

constexpr Bytes kSmallestFile{std::int64_t{64} << 20};
// Data sheets of drives for data centres promise 0.3 to 3 whole writes a day for 5 years; this is about the
// least of them.
constexpr double kRatedWholeWrites = 550;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%", 100 * share);
  return text;
}

/// Divides what file and ramp leave of the budget among the samples that write.
void share_budget(ProbePlan& plan) {
  const auto surface = static_cast<std::int64_t>(plan.write_sizes.size() * plan.write_depths.size());
  const auto commits = static_cast<std::int64_t>(plan.commits.size());
  const std::int64_t samples = plan.repeats * surface + plan.settle_least * (commits + 1);
  const Bytes each = (plan.write_most - plan.file - plan.ramp) / (2 * samples);
  if (each < plan.write_window.most) {
    plan.write_window.warm_up = plan.write_window.warm_up * (each / plan.write_window.most);
    plan.write_window.most = each;
  }
  // A commit is sampled at least twice in a row; two small sizes are what the law needs at least.
  while (plan.commits.size() > 2 && plan.commits.back() > each) plan.commits.pop_back();
}

}  // namespace

ProbePlan quick_plan(std::uint64_t seed) {
  ProbePlan plan;
  plan.file = 2_GiB;
  plan.fill_limit = 8_s;
  plan.fill_least = 256_MiB;
  plan.arena = 128_MiB;
  plan.write_most = 12_GiB;
  plan.io_sizes = {128_KiB, 512_KiB, 2_MiB, 4_MiB};
  plan.depths = {1, 4, 16, 64};
  plan.write_sizes = {512_KiB, 2_MiB};
  plan.write_depths = {1, 4};
  plan.loads = {1, 2, 4, 6, 8, 12, 16, 24};
  plan.commits = {128_KiB, 512_KiB, 2_MiB, 8_MiB, 32_MiB};
  plan.wholes = {8_MiB, 64_MiB, 256_MiB};
  plan.reference_io = 2_MiB;
  plan.window = {.warm_up = 0.02_s, .length = 0.1_s, .cap = 2_s};
  plan.write_window = {.warm_up = 0.01_s, .length = 0.1_s, .cap = 2_s, .most = 64_MiB};
  plan.latency_most = 0.25_s;
  plan.time_limit = 20_s;
  plan.seed = seed;
  return plan;
}

ProbePlan full_plan(std::uint64_t seed) {
  ProbePlan plan = quick_plan(seed);
  plan.file = 16_GiB;
  plan.fill_limit = 60_s;
  plan.fill_least = 1_GiB;
  plan.write_most = 160_GiB;
  plan.ramp = 96_GiB;
  plan.rest_most = 120_s;
  plan.write_sizes = {128_KiB, 512_KiB, 2_MiB, 4_MiB};
  plan.write_depths = {1, 4, 16};
  plan.loads = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  plan.window = {.warm_up = 0.05_s, .length = 0.5_s, .cap = 5_s};
  plan.write_window = {.warm_up = 0.05_s, .length = 0.5_s, .cap = 5_s, .most = 512_MiB};
  plan.repeats = 10;
  plan.settle_least = 20;
  plan.settle_most = 60;
  plan.time_limit = 180_s;
  return plan;
}

ProbePlan turning_plan(bool full, std::uint64_t seed) {
  ProbePlan plan = full ? full_plan(seed) : quick_plan(seed);
  plan.fill_limit = full ? 120_s : 12_s;
  plan.ramp = Bytes(0);  // a turning disk has no write cache worth the name
  plan.io_sizes = {512_KiB, 2_MiB, 8_MiB};
  plan.depths = {1, 4};
  plan.write_sizes = {2_MiB};
  plan.loads = {1, 2, 4, 8};
  plan.commits = {2_MiB, 8_MiB, 32_MiB};
  plan.wholes = {64_MiB};
  plan.run_lengths = {1_MiB, 4_MiB, 16_MiB, 64_MiB};
  plan.window = {.warm_up = 0.05_s, .length = 0.4_s, .cap = 4_s};
  plan.write_window = plan.window;
  plan.latency_most = 1_s;
  plan.time_limit = full ? 240_s : 15_s;
  return plan;
}

Result<ProbePlan> fit_to_space(ProbePlan plan, Bytes free_space, Bytes budget) {
  if (budget > Bytes(0)) plan.write_most = std::min(plan.write_most, budget);
  // A quarter of the free space, and no more than a third of the budget: the rest is for the write cells.
  const Bytes most = std::min(free_space / 4, plan.write_most / 3);
  plan.file = std::min(plan.file, most / kSmallestFile.value() * kSmallestFile.value());
  if (plan.file >= kSmallestFile) {
    plan.fill_least = std::min(plan.fill_least, plan.file);
    plan.ramp = std::min(plan.ramp, (plan.write_most - plan.file) / 2);
    const auto too_long = [&](Bytes size) { return size > plan.file / 4; };
    for (auto* sizes : {&plan.commits, &plan.wholes, &plan.run_lengths}) std::erase_if(*sizes, too_long);
    share_budget(plan);
    return plan;
  }
  if (free_space / 4 < kSmallestFile) {
    return make_error(
        ErrorKind::no_space, "calibrate", "",
        "only " + format(free_space) + " are free, " + format(kSmallestFile * 4) + " are needed",
        "free some space or name another path");
  }
  return bad_input("--budget", "less than " + format(kSmallestFile * 3) + " measures nothing",
                   "allow more bytes");
}

std::vector<std::string> describe(const ProbePlan& plan, Bytes filesystem) {
  std::vector<std::string> lines;
  lines.push_back("scratch file " + format(plan.file) + ", without a name, gone when the program ends");
  std::string writes = "writes at most " + format(plan.write_most);
  if (filesystem > Bytes(0)) {
    writes += ", " + percent(plan.write_most / filesystem / kRatedWholeWrites) +
              " of what a drive of this size (" + format(filesystem) + ") is commonly rated for (" +
              std::to_string(static_cast<int>(kRatedWholeWrites)) + " whole writes)";
  }
  lines.push_back(writes);
  lines.push_back("reads " + std::to_string(plan.io_sizes.size()) + " I/O sizes at " +
                  std::to_string(plan.depths.size()) + " depths, " + std::to_string(plan.loads.size()) +
                  " levels of concurrent loads, each " + std::to_string(plan.repeats) + " to " +
                  std::to_string(plan.settle_most) + " times");
  lines.push_back(std::to_string(plan.commits.size()) + " sizes of durable writes, reads beside writes" +
                  (plan.ramp > Bytes(0) ? ", one write of " + format(plan.ramp) + ", rests of up to " +
                                              format(plan.rest_most) + " behind it"
                                        : "") +
                  (plan.run_lengths.empty() ? "" : ", run lengths of a turning medium"));
  return lines;
}

}  // namespace fulcrum::calibrate
