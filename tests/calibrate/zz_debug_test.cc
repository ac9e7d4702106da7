#include <gtest/gtest.h>
#include <cstdio>
#include <map>
#include "sim_probe.h"
namespace fulcrum {
TEST(Zz, PerLevel) {
  std::map<int, std::pair<double,int>> sum;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimTruth truth = test::random_truth(seed);
    if (getenv("QUIET")) { truth.noise = 0; truth.mood = 0; truth.setup_spread = 0; }
    const auto report = test::probe(truth, test::small_plan(seed));
    for (const auto& cell : report.samples.cells(calibrate::CellKind::load)) {
      const double n = cell.loads;
      const double x = truth.single.value() * n / (1 + truth.sigma * (n - 1) + truth.k * n * (n - 1));
      sum[cell.loads].first += calibrate::median(report.samples.values(cell)) / x - 1;
      sum[cell.loads].second++;
    }
  }
  for (auto& [n, s] : sum) std::printf("N %d bias %.4f\n", n, s.first / s.second);
}
}
