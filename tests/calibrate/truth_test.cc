// Calibrates the calibrator: simulated devices whose truth is known.
#include <gtest/gtest.h>

#include <iostream>

#include "sim_probe.h"

namespace fulcrum {
namespace {

using test::probe;
using test::random_truth;
using test::small_plan;

template <class T>
void print(const char* name, const Measured<T>& m, T truth) {
  std::cout << name << " " << m.value.value() << " [" << m.low.value() << ", " << m.high.value() << "] truth "
            << truth.value() << (m.interval().contains(truth) ? "" : "  MISS") << "\n";
}

TEST(Truth, Smoke) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const SimTruth truth = random_truth(seed);
    const auto report = probe(truth, small_plan(seed));
    const auto& t = report.tier;
    print("read", t.read, truth.single);
    print("setup", t.setup, test::true_setup(truth));
    print("write", t.write, truth.write);
    print("half", t.commit_half, test::true_commit_half(truth));
    std::cout << "sigma " << t.sigma.value << " [" << t.sigma.low << "," << t.sigma.high << "] " << truth.sigma << "\n";
    std::cout << "k " << t.k.value << " [" << t.k.low << "," << t.k.high << "] " << truth.k << "\n";
    std::cout << to_string(t.verdict) << " samples " << report.samples.all().size() << " point " << t.io_size.value() << "x" << t.depth <<  "\n";
    for (const auto& f : t.findings) std::cout << "  - " << f << "\n";
  }
}

}  // namespace
}  // namespace fulcrum
