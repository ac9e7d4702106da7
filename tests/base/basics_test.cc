// Clock, random, checksum, keys, checks, log.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "fulcrum/key.h"
#include "fulcrum/measured.h"

namespace fulcrum {
namespace {

TEST(SteadyClockTime, MovesForwardAndSleepsAtLeastAsLongAsAsked) {
  SteadyClock clock;
  const Seconds before = clock.now();
  clock.sleep(3_ms);
  const Seconds passed = clock.now() - before;
  EXPECT_GE(passed, 3_ms);
  EXPECT_LT(passed, 1_s);
  clock.sleep(Seconds(-1));
  clock.sleep(Seconds(std::nan("")));
}

TEST(ManualClockTime, MovesOnlyWhenToldAndNeverBack) {
  ManualClock clock(5_s);
  EXPECT_EQ(clock.now(), 5_s);
  clock.sleep(2_s);
  EXPECT_EQ(clock.now(), 7_s);
  clock.advance_to(6_s);
  EXPECT_EQ(clock.now(), 7_s);
  clock.advance_to(9_s);
  EXPECT_EQ(clock.now(), 9_s);
}

TEST(UtcStamp, IsIso8601) {
  const std::string stamp = utc_stamp();
  ASSERT_EQ(stamp.size(), 20U) << stamp;
  EXPECT_EQ(stamp[4], '-');
  EXPECT_EQ(stamp[10], 'T');
  EXPECT_EQ(stamp.back(), 'Z');
  EXPECT_GE(stamp.substr(0, 4), "2024");
}

TEST(RandomNumbers, AreTheReferenceSequence) {
  // xoshiro256** with its state set by SplitMix64 from seed 0, as the algorithms' authors publish them.
  Random random(0);
  EXPECT_EQ(random.next(), 0x99ec5f36cb75f2b4U);
  EXPECT_EQ(random.next(), 0xbf6e1f784956452aU);
  EXPECT_EQ(random.next(), 0x1a5f849d4933e6e0U);
}

TEST(RandomNumbers, SplitStreamsAreIndependentOfEachOtherAndOfDraws) {
  Random random(42);
  Random first = random.split("disk");
  random.next();
  Random again = random.split("disk");
  Random other = random.split("network");
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t word = first.next();
    EXPECT_EQ(word, again.next()) << "draws from the parent move no child";
    equal += word == other.next() ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

TEST(RandomNumbers, BelowIsUniform) {
  constexpr std::uint64_t kFaces = 7;
  constexpr int kDraws = 70000;
  Random random(1);
  std::array<int, kFaces> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(kFaces));
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - kDraws / 7.0, 2) / (kDraws / 7.0);
  EXPECT_LT(chi_square, 22.5) << "6 degrees of freedom, p = 0.001";
  EXPECT_EQ(random.below(1), 0U);
}

TEST(RandomNumbers, HaveTheMomentsOfTheirLaws) {
  constexpr int kDraws = 200000;
  Random random(2);
  double uniform = 0;
  double normal = 0;
  double normal_square = 0;
  double exponential = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    uniform += u;
    const double z = random.normal();
    normal += z;
    normal_square += z * z;
    const double e = random.exponential();
    ASSERT_GE(e, 0);
    exponential += e;
  }
  EXPECT_NEAR(uniform / kDraws, 0.5, 0.005);
  EXPECT_NEAR(normal / kDraws, 0, 0.01);
  EXPECT_NEAR(normal_square / kDraws, 1, 0.02);
  EXPECT_NEAR(exponential / kDraws, 1, 0.015);
}

TEST(RandomNumbers, FillIsIncompressibleAtEveryLength) {
  Random random(3);
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<std::byte> bytes(size + 1, std::byte{0xAA});
    random.fill(std::span(bytes).first(size));
    EXPECT_EQ(bytes[size], std::byte{0xAA}) << "wrote past the end";
  }
  std::vector<std::byte> bytes(1 << 16);
  random.fill(bytes);
  std::array<int, 256> counts{};
  for (const std::byte b : bytes) ++counts.at(static_cast<std::size_t>(b));
  double entropy = 0;
  for (const int count : counts) {
    const double share = count / static_cast<double>(bytes.size());
    entropy -= share * std::log2(share);
  }
  EXPECT_GT(entropy, 7.99);
}

TEST(Checksum, IsThePublishedXxh3) {
  EXPECT_EQ(hash64(std::string_view("")), 0x2d06800538d394c2U);
  const Hash128 empty = hash128({});
  EXPECT_EQ(empty.high, 0x99aa06d3014798d8U);
  EXPECT_EQ(empty.low, 0x6001c324468d497fU);
}

TEST(Checksum, NoticesEverySingleFlippedBit) {
  std::vector<std::byte> data(300);
  Random(4).fill(data);
  const std::uint64_t good = hash64(std::span<const std::byte>(data));
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_NE(hash64(std::span<const std::byte>(data)), good) << bit;
    data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

TEST(NamespaceFingerprint, ChangesWithEveryField) {
  const Namespace base{"llama", "layout", "bf16", 1, ""};
  std::set<std::uint64_t> seen{base.fingerprint()};
  std::set<BlockKey> roots{BlockKey::root(base)};
  const Namespace others[] = {{"llamb", "layout", "bf16", 1, ""},  {"llama", "layouu", "bf16", 1, ""},
                              {"llama", "layout", "fp16", 1, ""},  {"llama", "layout", "bf16", 2, ""},
                              {"llama", "layout", "bf16", 1, "t"}, {"llamal", "ayout", "bf16", 1, ""},
                              {"llama", "layoutbf16", "", 1, ""}};
  for (const Namespace& other : others) {
    EXPECT_TRUE(seen.insert(other.fingerprint()).second);
    EXPECT_TRUE(roots.insert(BlockKey::root(other)).second);
  }
  EXPECT_EQ(base.fingerprint(), Namespace(base).fingerprint());
}

TEST(BlockKeys, AreTheSameInEveryBuildAndOnEveryHost) {
  const BlockKey root = BlockKey::root({"model", "layout", "bf16", 1, ""});
  const std::array<std::int32_t, 4> tokens{1, 2, 3, 4};
  const BlockKey key = BlockKey::next(root, tokens);
  // Keys rest on disk: a change of these values orphans every stored block.
  EXPECT_EQ(root.high, 0x1191321647f64efdU);
  EXPECT_EQ(root.low, 0x2253836f45639266U);
  EXPECT_EQ(key.high, 0x849534548e84f2bcU);
  EXPECT_EQ(key.low, 0x1df697c099f5be7bU);
}

TEST(BlockKeys, NameTheWholePrefixAndNotOnlyTheBlock) {
  const BlockKey root = BlockKey::root({"m", "l", "d", 1, ""});
  const std::array<std::int32_t, 2> a{1, 2};
  const std::array<std::int32_t, 2> b{3, 4};
  const std::array<std::int32_t, 4> ab{1, 2, 3, 4};
  EXPECT_NE(BlockKey::next(BlockKey::next(root, a), b), BlockKey::next(BlockKey::next(root, b), b));
  EXPECT_NE(BlockKey::next(BlockKey::next(root, a), b), BlockKey::next(root, ab))
      << "block size is part of it";
  EXPECT_NE(BlockKey::next(root, a), BlockKey::from_host_hash(root, std::as_bytes(std::span(a))));
  EXPECT_EQ(BlockKey::next(root, a), BlockKey::next(root, a));
}

TEST(BlockKeys, DoNotCollideAmongManyNearNeighbours) {
  BlockKey parent = BlockKey::root({"m", "l", "d", 1, ""});
  std::set<BlockKey> seen;
  for (std::int32_t i = 0; i < 20000; ++i) {
    const std::array<std::int32_t, 2> tokens{i % 3, i / 3};
    EXPECT_TRUE(seen.insert(BlockKey::next(parent, tokens)).second);
    if (i % 1000 == 0) parent = BlockKey::next(parent, tokens);
  }
}

TEST(Verdicts, HaveDistinctNames) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Verdict::invalid); ++i) {
    EXPECT_TRUE(names.insert(to_string(static_cast<Verdict>(i))).second);
  }
}

TEST(CheckDeathTest, StopsWithPlaceConditionAndNote) {
  const int two = 2;
  FULCRUM_CHECK(two == 2, "never printed");
  EXPECT_DEATH(FULCRUM_CHECK(two == 3, "arithmetic is off"),
               "basics_test.cc:[0-9]+: two == 3: arithmetic is off");
  EXPECT_DEATH((void)Random(1).below(0), "below");
}

TEST(Log, IsSilentUntilAsked) {
  ::testing::internal::CaptureStderr();
  log(LogLevel::error, "unheard");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  set_log_level(LogLevel::info);
  ::testing::internal::CaptureStderr();
  log(LogLevel::debug, "too quiet");
  log(LogLevel::warn, "disk {} is slow");
  const std::string said = ::testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::off);
  EXPECT_NE(said.find("warning: disk {} is slow"), std::string::npos) << said;
  EXPECT_EQ(said.find("too quiet"), std::string::npos) << said;
}

}  // namespace
}  // namespace fulcrum
