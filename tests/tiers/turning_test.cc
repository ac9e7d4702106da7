// File tiers on turning disks: the head goes to the journal once a commit and not once an extent, and what
// that leaves untold is forgotten by a process that dies, and by no other.
#include <gtest/gtest.h>

#include "tests/support/devices.h"
#include "tests/tiers/file_tier_rig.h"
#include "tiers/format.h"

namespace fulcrum::test {
namespace {

constexpr std::int64_t kRow = 4096;
constexpr Seconds kHeld{11};  // longer than records wait

Rig turning_rig(std::int64_t rows_a_commit) {
  Rig rig;
  rig.options.turning = true;
  rig.options.commit = Bytes(rows_a_commit * kRow);
  return rig;
}

/// Blocks of a chain that a process finds which starts after this one was killed now.
std::uint32_t found_after_kill(const Rig& rig, std::uint64_t chain, std::uint32_t count) {
  Rig after;
  const Result<void> opened = after.open(rig.device->image());
  EXPECT_FALSE(opened.has_error());
  return after.readable(chain, 0, count);
}

std::size_t visits(Rig rig, std::uint32_t writes) {
  CountingDevice* device = nullptr;
  const auto opened = rig.open({}, [&](std::unique_ptr<TestDevice> inner) {
    auto outer = std::make_unique<CountingDevice>(std::move(inner));
    device = outer.get();
    return outer;
  });
  EXPECT_FALSE(opened.has_error());
  const auto in_head = [&](const IoRequest& request) {
    return request.kind == IoKind::write && request.offset < rig.options.layout.meta_bytes.value();
  };
  const auto before = std::ranges::count_if(device->requests(), in_head);
  for (std::uint32_t i = 0; i < writes; ++i) {
    EXPECT_TRUE(rig.write(1, i, 1).good());
    EXPECT_EQ(rig.readable(1, i, 1), 1U) << "as soon as it is written";
  }
  return static_cast<std::size_t>(std::ranges::count_if(device->requests(), in_head) - before);
}

TEST(TurningDisks, AreLeftForTheJournalOnceACommit) {
  EXPECT_EQ(visits(turning_rig(8), 32), 4U);
  EXPECT_GE(visits(turning_rig(1), 32), 32U);
  Rig flash = turning_rig(8);
  flash.options.turning = false;
  EXPECT_GE(visits(std::move(flash), 32), 32U) << "where nothing turns, nothing is held back";
}

TEST(TurningDisks, ForgetWhenKilledWhatTheJournalWasNotToldButNotLonger) {
  Rig rig = turning_rig(100);
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(1, 0, 3).good());
  EXPECT_EQ(rig.readable(1, 0, 3), 3U);
  EXPECT_EQ(found_after_kill(rig, 1, 3), 0U) << "or this shows nothing";
  rig.pass(kHeld);
  EXPECT_EQ(found_after_kill(rig, 1, 3), 3U);
}

TEST(TurningDisks, TellTheJournalAllThatWaitsWhereOneBatchDoesNotHoldIt) {
  constexpr std::int64_t kBlocks = 4000;  // each with a record of some 80 bytes; a batch has 256 KiB
  Rig rig{Bytes(kRow), Bytes(kBlocks * 3 * kRow)};
  rig.options.turning = true;
  rig.options.commit = Bytes(kBlocks * 2 * kRow);
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  for (std::uint32_t i = 0; i < std::uint32_t{kBlocks}; ++i) ASSERT_TRUE(rig.write(1, i, 1).good());
  rig.pass(kHeld);
  Rig after{Bytes(kRow), Bytes(kBlocks * 3 * kRow)};
  ASSERT_FALSE(after.open(rig.device->image()).has_error());
  EXPECT_EQ(after.tier->recovery().blocks, std::uint64_t{kBlocks});
}

TEST(TurningDisks, TellAllBeforeTheyAreClosed) {
  Rig rig = turning_rig(100);
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(1, 0, 3).good());
  rig.must_close();
  EXPECT_EQ(found_after_kill(rig, 1, 3), 3U);
}

std::uint64_t journal_generation(const Rig& rig) {
  std::uint64_t generation = 0;
  for (const std::size_t slot : {0U, 1U}) {
    const auto found = decode_superblock(std::span(rig.device->image()).subspan(slot * kPage, kPage));
    if (!found.has_error()) generation = std::max(generation, found->journal_generation);
  }
  return generation;
}

TEST(TurningDisks, ACheckpointIsNotOverruledByOlderRecordsBehindIt) {
  // A block is erased while the record of its extent waits. The half is full when that is to be written: the
  // checkpoint says that the block is gone, and the record behind it what was there at first.
  Rig rig = turning_rig(1000);
  rig.options.checkpoint_age = Seconds(1e9);  // nothing else says what was erased
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  const std::uint64_t before = journal_generation(rig);
  const auto let_it_be_written = [&] {
    rig.clock.sleep(kHeld);
    rig.collect(Seconds(0.01));
  };
  std::uint32_t chain = 0;
  while (journal_generation(rig) == before && chain < 200) {
    ++chain;
    ASSERT_TRUE(rig.write(chain, 0, 2).good());
    rig.tier->erase(keys_of(chain, 1, 1));
    let_it_be_written();
  }
  let_it_be_written();
  ASSERT_LT(chain, 200U) << "no checkpoint was made";
  Rig after;
  ASSERT_FALSE(after.open(rig.device->image()).has_error());
  EXPECT_TRUE(after.tier->contains(key_of(chain, 0)));
  EXPECT_FALSE(after.tier->contains(key_of(chain, 1)));
}

}  // namespace
}  // namespace fulcrum::test
