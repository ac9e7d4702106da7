// A set of ranges counts each byte once, however the ranges overlap.
#include "tiers/range_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.h"

namespace fulcrum {
namespace {

// Law: total() and missing() agree with a plain array of flags under any sequence of additions.
TEST(RangeSet, AgreesWithOneFlagAByte) {
  constexpr std::int64_t kBytes = 64;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    RangeSet set;
    std::array<bool, kBytes> flags{};
    for (int step = 0; step < 24; ++step) {
      const auto begin = static_cast<std::int64_t>(random.below(kBytes));
      const auto end = static_cast<std::int64_t>(random.below(kBytes + 1));
      std::int64_t absent = 0;
      for (std::int64_t i = begin; i < end; ++i) absent += flags[static_cast<std::size_t>(i)] ? 0 : 1;
      ASSERT_EQ(set.missing(begin, end), absent) << "seed " << seed << " step " << step;
      set.add(begin, end);
      for (std::int64_t i = begin; i < end; ++i) flags[static_cast<std::size_t>(i)] = true;
      ASSERT_EQ(set.total(), std::count(flags.begin(), flags.end(), true)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fulcrum
