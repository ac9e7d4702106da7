// A full store makes room for what comes: the least worthy goes, the worthiest stays, nothing is exceeded.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/tiers/file_tier_rig.h"

namespace fulcrum::test {
namespace {

std::uint64_t capacity_rows(const Rig& rig) {
  return static_cast<std::uint64_t>(rig.options.layout.capacity().value() /
                                    rig.options.layout.row_bytes.value());
}

/// What must hold at every moment.
void expect_within_limits(const Rig& rig) {
  const TierStatus status = rig.tier->status();
  EXPECT_LE(status.used, status.capacity);
  EXPECT_LE(status.allocated, rig.options.layout.total());
  EXPECT_LE(status.live, status.used);
}

TEST(Reclaim, GoesOnTakingBlocksForeverAndStaysWithinItsCapacity) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  const std::uint64_t rows = capacity_rows(rig);
  std::set<std::pair<std::uint64_t, std::uint64_t>> told_lost;
  for (std::uint64_t chain = 0; chain < rows; ++chain) {
    ASSERT_TRUE(rig.write(chain, 0, 7, static_cast<float>(chain)).good()) << chain;
    expect_within_limits(rig);
    for (const BlockKey& key : rig.tier->take_lost()) told_lost.emplace(key.high, key.low);
  }
  EXPECT_EQ(rig.readable(rows - 1, 0, 7), 7U) << "the newest are the worthiest";
  EXPECT_GT(rig.tier->status().blocks, rows / 3);
  std::uint64_t held = 0;
  for (std::uint64_t chain = 0; chain < rows; ++chain) {
    for (const BlockKey& key : keys_of(chain, 0, 7)) {
      const bool holds = rig.tier->contains(key);
      held += holds ? 1U : 0U;
      EXPECT_NE(holds, told_lost.count({key.high, key.low}) != 0) << "each block is held, or was told lost";
    }
  }
  EXPECT_EQ(held, rig.tier->status().blocks);
  EXPECT_EQ(rig.tier->tally().blocks_lost, told_lost.size());
}

TEST(Reclaim, KeepsTheWorthiest) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  const std::uint64_t rows = capacity_rows(rig);
  // A worthy block among many that are worth little.
  constexpr std::uint64_t kWorthy = 1000000;
  std::uint32_t worthy = 0;
  for (std::uint64_t chain = 0; chain < 2 * rows; ++chain) {
    ASSERT_TRUE(rig.write(chain, 0, 2, -5).good());
    if (chain % 16 == 0 && worthy < rows / 8) {
      ASSERT_TRUE(rig.write(kWorthy, worthy++, 1, 10).good());
    }
  }
  EXPECT_EQ(rig.readable(kWorthy, 0, worthy), worthy);
  EXPECT_GT(rig.tier->tally().blocks_lost, rows);
  const double amplification = static_cast<double>(rig.tier->tally().medium_written.value()) /
                               static_cast<double>(rig.tier->tally().blocks_written * 4096);
  // Extents of 2 rows have a third of headers, and each commit of one costs a page of the journal.
  EXPECT_LT(amplification, 4.5);
}

TEST(Reclaim, TakesWhatWasErasedBeforeAnythingIsLost) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  const std::uint64_t rows = capacity_rows(rig);
  std::uint64_t kept = 0;
  for (std::uint64_t chain = 0; chain < 3 * rows / 8; ++chain) {
    ASSERT_TRUE(rig.write(chain, 0, 8).good());
    // The owner stays below half of the capacity by itself.
    if (chain >= rows / 16) rig.tier->erase(keys_of(chain - rows / 16, 0, 8));
    kept = chain;
  }
  EXPECT_EQ(rig.tier->tally().blocks_lost, 0U);
  for (std::uint64_t chain = kept - rows / 16 + 1; chain <= kept; ++chain) {
    EXPECT_EQ(rig.readable(chain, 0, 8), 8U);
  }
}

TEST(Reclaim, DoesNotTouchASegmentThatIsBeingRead) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(1, 0, 8, -20).good()) << "the first to go";
  rig.device->stall(IoKind::read);
  const Rows rows(8, 4096);
  ASSERT_FALSE(rig.tier->read({5000, Urgency::load, keys_of(1, 0, 8), rows.pointers(8)}).has_error());
  EXPECT_FALSE(rig.wait(5000, Seconds(0.1)).ended);
  for (std::uint64_t chain = 2; chain < capacity_rows(rig) / 5; ++chain) {
    if (!rig.write(chain, 0, 8, -30).good()) break;  // with all reads stalled it may not move anything
  }
  rig.device->release();
  const Ended read = rig.wait(5000);
  EXPECT_TRUE(read.ended);
  for (std::uint32_t i = 0; i < read.blocks; ++i) EXPECT_TRUE(rows.right(i, key_of(1, i)));
}

TEST(Reclaim, SurvivesRestartsInTheMiddle) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  const std::uint64_t rows = capacity_rows(rig);
  std::uint32_t hits = 0;
  for (std::uint64_t chain = 0; chain < rows; ++chain) {
    ASSERT_TRUE(rig.write(chain, 0, 5, static_cast<float>(chain % 7)).good()) << chain;
    if (chain % 13 == 12) {
      ASSERT_NO_FATAL_FAILURE(rig.must_open(rig.device->image()));
      hits += rig.readable(chain - 1, 0, 5);
      expect_within_limits(rig);
    }
  }
  EXPECT_GT(hits, rows / 13 * 2);
}

TEST(Reclaim, RandomUseNeverExceedsALimitNorServesAWrongByte) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Rig rig{Bytes(4096 + 1000 * static_cast<std::int64_t>(seed % 3)),
            Bytes((1 + static_cast<std::int64_t>(seed % 2)) << 20)};
    rig.options.turning = seed % 2 == 0;
    ASSERT_NO_FATAL_FAILURE(rig.must_open());
    rig.device->take_time(Seconds(50e-6), BytesPerSecond(1e9));
    rig.device->shuffle(seed);
    for (int step = 0; step < 600; ++step) {
      const std::uint64_t chain = random.below(60);
      const auto first = static_cast<std::uint32_t>(random.below(20));
      const auto count = static_cast<std::uint32_t>(1 + random.below(12));
      Ended written;
      switch (random.below(8)) {
        case 0:
          rig.tier->erase(keys_of(chain, first, count));
          break;
        case 1:
          rig.tier->touch(keys_of(chain, first, count), static_cast<float>(random.below(20)));
          break;
        case 2:
        case 3: {
          const Ended read = rig.read(chain, first, count);
          EXPECT_EQ(read.wrong, 0U);
          EXPECT_TRUE(read.ended);
          break;
        }
        case 4:
          if (step % 10 == 0) {
            ASSERT_NO_FATAL_FAILURE(rig.must_open(rig.device->image()));
          }
          break;
        default:
          written = rig.write(chain, first, count, static_cast<float>(random.below(20)));
          EXPECT_TRUE(written.good())
              << step << (written.result.has_error() ? written.result.error().message() : "not ended")
              << rig.clock.now().value();
      }
      expect_within_limits(rig);
    }
    EXPECT_GT(rig.tier->status().blocks, 10U);
  }
}

}  // namespace
}  // namespace fulcrum::test
