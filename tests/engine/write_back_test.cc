// Write-back to turning disks: the array runs at its own speed, and what cannot be written is what is worth
// least. See write_back.h for the machine.
#include <gtest/gtest.h>

#include "engine/tier_setup.h"
#include "tests/engine/write_back.h"

namespace fulcrum::test {
namespace {

WriteBackFigures with_commits(std::int64_t blocks, Bytes in_flight = WriteBackOptions().in_flight) {
  WriteBackOptions options;
  options.commit = WriteBackOptions::kBlock * blocks;
  options.in_flight = in_flight;
  options.warm_up = Seconds(60);
  options.length = Seconds(60);
  return write_back(options);
}

/// Long enough for a few per cent of the chains to be many.
WriteBackFigures shedding(double offered, double by_lot) {
  WriteBackOptions options;
  options.offered = offered;
  options.shed_by_lot = by_lot;
  options.warm_up = Seconds(240);
  options.length = Seconds(360);
  return write_back(options);
}

TEST(WriteBack, KeepsAnArrayAtItsSpeedWithTheCommitsOfItsProfile) {
  const WriteBackFigures figures = write_back({});
  EXPECT_GE(figures.ratio(), 0.98);
  EXPECT_LE(figures.ratio(), 1.0);
  EXPECT_NEAR(figures.ledger.sum(), 120, 1e-6) << "every moment of the array is accounted for";
  EXPECT_LT(figures.ledger.seconds[ArrayLedger::idle], 0.2);
}

TEST(LongWriteBack, NoticesCommitsThatAreTooSmall) {
  // Each block on its own: the ninth that the array is known for, with the engine as without it.
  const WriteBackFigures one = with_commits(1, WriteBackOptions::kBlock);
  EXPECT_NEAR(bare_commits(WriteBackOptions::kBlock), WriteBackOptions::kStream / WriteBackOptions::kLoss,
              1e6);
  EXPECT_NEAR(one.rate, WriteBackOptions::kStream / WriteBackOptions::kLoss, 2e6);
  double before = one.ratio();
  for (const std::int64_t blocks : {8, 32, 128}) {
    const WriteBackFigures figures = with_commits(blocks);
    const double alone = bare_commits(WriteBackOptions::kBlock * blocks) / WriteBackOptions::kIdeal;
    EXPECT_GT(figures.ratio(), before) << blocks << " blocks a commit";
    EXPECT_NEAR(figures.ratio(), alone, 0.05) << blocks << " blocks a commit";
    before = figures.ratio();
  }
  EXPECT_LT(before, 0.96) << "128 blocks are too few for the target";
}

TEST(WriteBack, CommitsFollowTheLawOfTheMedium) {
  TierProfile disk;
  disk.medium = Medium::hdd;
  disk.write = Measured<BytesPerSecond>::exact(BytesPerSecond(180e6));
  disk.commit_half = Measured<Bytes>::exact(Bytes(2'560'000));
  const Bytes turning = *engine::commit_size(disk);
  EXPECT_NEAR(disk.commit().rate(turning).value(), 0.99 * 180e6, 1e3);
  disk.medium = Medium::flash;
  EXPECT_LT(*engine::commit_size(disk), turning / 5) << "writes to flash wait for their commit";
  disk.commit_half = Measured<Bytes>::exact(Bytes(0));
  EXPECT_FALSE(engine::commit_size(disk).has_value());
}

TEST(LongWriteBack, ShedsWhatIsWorthLeast) {
  const WriteBackFigures figures = shedding(WriteBackOptions::kStream, 0);
  EXPECT_GE(figures.ratio(), 0.98);
  EXPECT_LT(figures.shed_blocks, 0.04 * figures.offered_blocks);
  EXPECT_LT(figures.value_shed, 0.85 * figures.value_offered);
  EXPECT_GT(figures.value_kept, figures.value_offered);
}

TEST(LongWriteBack, NoticesSheddingByLot) {
  const WriteBackFigures figures = shedding(WriteBackOptions::kStream, 0.03);
  EXPECT_GT(figures.value_shed, 0.95 * figures.value_offered);
}

TEST(LongWriteBack, ShedsTheLesserHalfOfAStreamThatIsTwiceTooLarge) {
  const WriteBackFigures figures = shedding(2 * WriteBackOptions::kStream, 0);
  const WriteBackFigures by_lot = shedding(2 * WriteBackOptions::kStream, 0.52);
  EXPECT_GE(figures.ratio(), 0.98);
  EXPECT_GT(figures.value_kept, 1.04 * figures.value_offered);
  EXPECT_LT(by_lot.value_kept, 1.02 * by_lot.value_offered) << "a mutant";
}

}  // namespace
}  // namespace fulcrum::test
