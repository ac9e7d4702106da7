// Contention, commit size and the finish time of one load among others.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "fulcrum/cost.h"

namespace fulcrum {
namespace {

/// Finish time of the last entry when all loads share X(N)/N, in steps of `step` seconds.
double stepped_finish(const ContentionLaw& law, std::vector<double> left, double step) {
  double clock = 0;
  while (left.back() > 0) {
    int loads = 0;
    for (const double bytes : left) loads += bytes > 0 ? 1 : 0;
    const double moved = law.throughput(loads).value() / loads * step;
    for (double& bytes : left) bytes -= moved;
    clock += step;
  }
  return clock;
}

TEST(ContentionLaw, FitsThePublishedSharedPool) {
  // 64 documents of 99K tokens on one pool: 2.20 s for one reload, 11.7 s for 16 at once, 42 s for 32.
  const std::vector<ThroughputSample> samples = {
      {1, BytesPerSecond(1 / 2.20)}, {16, BytesPerSecond(16 / 11.7)}, {32, BytesPerSecond(32 / 42.0)}};
  const auto law = fit_contention(samples);
  ASSERT_TRUE(law.has_value());
  EXPECT_NEAR(law->sigma, 0, 0.01);
  EXPECT_NEAR(law->k, 0.018, 0.002);
  EXPECT_NEAR(law->peak(), 7, 1);
  EXPECT_GE(law->gate(), 4);
  EXPECT_LE(law->gate(), 6);
  EXPECT_LT(law->throughput(32) / law->throughput(law->peak()), 0.45);
}

TEST(ContentionLaw, FindsPlantedValuesUnderNoise) {
  Random random(3);
  for (const auto& [sigma, k] : {std::pair{0.0, 0.0}, {0.3, 0.0}, {0.05, 0.004}, {0.0, 0.02}, {1.0, 0.01}}) {
    const ContentionLaw truth{BytesPerSecond(3e9), sigma, k};
    std::vector<ThroughputSample> samples;
    for (int repeat = 0; repeat < 5; ++repeat) {
      for (const int n : {1, 2, 4, 8, 16, 32}) {
        samples.push_back({n, truth.throughput(n) * (1 + 0.01 * random.normal())});
      }
    }
    const auto law = fit_contention(samples);
    ASSERT_TRUE(law.has_value());
    EXPECT_NEAR(law->sigma, sigma, 0.03 + 0.05 * sigma);
    EXPECT_NEAR(law->k, k, 0.001 + 0.05 * k);
    for (const int n : {1, 3, 12, 32}) {
      EXPECT_NEAR(law->throughput(n) / truth.throughput(n), 1, 0.03) << sigma << ' ' << k << ' ' << n;
    }
  }
}

TEST(ContentionLaw, PeaksAndGatesWhereASearchFindsThem) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    const ContentionLaw law{BytesPerSecond(1e9), random.uniform(),
                            0.05 * random.uniform() * random.uniform()};
    int best = 1;
    for (int n = 1; n <= 200; ++n) {
      if (law.throughput(n) > law.throughput(best)) best = n;
    }
    int fewest = 1;
    while (law.throughput(fewest) < 0.95 * law.throughput(best)) ++fewest;
    EXPECT_EQ(law.peak(200), best) << law.sigma << ' ' << law.k;
    EXPECT_EQ(law.gate(0.95, 200), fewest) << law.sigma << ' ' << law.k;
  }
}

TEST(ContentionLaw, RefusesTooFewLevelsAndImpossibleRates) {
  const std::vector<ThroughputSample> two = {{1, 1_GBps}, {2, 2_GBps}, {2, 2_GBps}};
  EXPECT_TRUE(fit_contention(two).has_error());
  for (const double rate : {0.0, -1.0, std::nan("")}) {
    const std::vector<ThroughputSample> broken = {{1, 1_GBps}, {2, BytesPerSecond(rate)}, {4, 2_GBps}};
    const auto law = fit_contention(broken);
    ASSERT_TRUE(law.has_error());
    EXPECT_NE(law.error().message().find("sample 2"), std::string::npos);
  }
}

TEST(TransferLaw, FinishesAsATimeSteppedSimulationDoes) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    const TransferLaw law{Seconds(0.003 * random.uniform()),
                          {BytesPerSecond(1e9), 0.3 * random.uniform(), 0.03 * random.uniform()}};
    std::vector<Bytes> others;
    std::vector<double> left;
    for (std::uint64_t i = random.below(12); i > 0; --i) {
      others.push_back(Bytes(static_cast<std::int64_t>(random.below(1'000'000'000))));
      left.push_back(static_cast<double>(others.back().value()));
    }
    const Bytes bytes(1 + static_cast<std::int64_t>(random.below(1'000'000'000)));
    left.push_back(static_cast<double>(bytes.value()));
    const double expected = law.setup.value() + stepped_finish(law.contention, left, 1e-4);
    // A step of the simulation rounds every departure up.
    const double steps = 1e-4 * static_cast<double>(left.size() + 1);
    EXPECT_NEAR(law.finish(bytes, others).value(), expected, steps) << "round " << round;
  }
}

TEST(TransferLaw, AgreesWithItselfForEqualLoads) {
  const TransferLaw law{2_ms, {2_GBps, 0.1, 0.01}};
  EXPECT_DOUBLE_EQ(law.finish(1_GiB, {}).value(), law.time(1_GiB).value());
  const std::vector<Bytes> equal(3, 1_GiB);
  EXPECT_DOUBLE_EQ(law.finish(1_GiB, equal).value(), law.time(1_GiB, 3).value());
}

TEST(TransferLaw, NeverGetsFasterByCompanyOrBytes) {
  Random random(6);
  for (int round = 0; round < 200; ++round) {
    // A pool in retrograde could drain faster with fewer loads, never slower.
    const TransferLaw law{1_ms, {1_GBps, random.uniform(), 0.02 * random.uniform()}};
    std::vector<Bytes> others(random.below(6), Bytes(static_cast<std::int64_t>(random.below(1u << 30))));
    const Bytes bytes(static_cast<std::int64_t>(random.below(1u << 30)));
    const Seconds before = law.finish(bytes, others);
    EXPECT_LE(before, law.finish(bytes + 1_MiB, others));
    others.push_back(Bytes(static_cast<std::int64_t>(random.below(1u << 30))));
    EXPECT_LE(before.value(), law.finish(bytes, others).value() * (1 + 1e-12));
  }
}

TEST(CommitLaw, FindsTheHalfSizeOfADisk) {
  Random random(7);
  const CommitLaw truth{260_MBps, Bytes(3'600'000)};
  std::vector<CommitSample> samples;
  for (const std::int64_t size : {256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20}) {
    samples.push_back({Bytes(size), truth.rate(Bytes(size)) * (1 + 0.01 * random.normal())});
  }
  const auto law = fit_commit(samples);
  ASSERT_TRUE(law.has_value());
  EXPECT_NEAR(law->sequential / truth.sequential, 1, 0.03);
  EXPECT_NEAR(law->half / truth.half, 1, 0.05);
}

TEST(CommitLaw, InvertsItself) {
  const CommitLaw law{260_MBps, 4_MiB};
  EXPECT_NEAR(law.rate(law.half) / law.sequential, 0.5, 1e-12);
  for (const double share : {0.1, 0.5, 0.9, 0.95, 0.99}) {
    EXPECT_NEAR(law.rate(law.size_for(share)) / law.sequential, share, 1e-6);
  }
}

TEST(CommitLaw, SaysWhenNothingLevelsOff) {
  const std::vector<CommitSample> line = {{1_MiB, 10_MBps}, {2_MiB, 20_MBps}, {4_MiB, 41_MBps}};
  const auto law = fit_commit(line);
  ASSERT_TRUE(law.has_error());
  EXPECT_NE(law.error().message().find("levels off"), std::string::npos);
  EXPECT_TRUE(fit_commit(std::vector<CommitSample>{{1_MiB, 10_MBps}, {1_MiB, 11_MBps}}).has_error());
}

TEST(CommitLaw, CallsAFlatDeviceFlat) {
  const std::vector<CommitSample> flat = {{1_MiB, 2_GBps}, {4_MiB, 2_GBps}, {16_MiB, 2_GBps}};
  const auto law = fit_commit(flat);
  ASSERT_TRUE(law.has_value());
  EXPECT_EQ(law->half, Bytes(0));
  EXPECT_NEAR(law->sequential / 2_GBps, 1, 1e-9);
}

}  // namespace
}  // namespace fulcrum
