// The journal as a state machine: what is said to be written can be read back, whatever request fails.
#include "tiers/journal.h"

#include <gtest/gtest.h>

#include "tests/support/test_device.h"
#include "tiers/store_reader.h"

namespace fulcrum::test {
namespace {

/// The live state of these tests: the generations of a few segments.
struct Generations : CheckpointSource {
  std::vector<std::uint32_t> values = std::vector<std::uint32_t>(64);
  std::uint32_t next = 0;
  void rewind() override { next = 0; }
  std::uint32_t encode_more(std::vector<std::byte>& out, std::size_t room) override {
    std::uint32_t count = 0;
    for (; next < values.size() && out.size() + kSegmentRecordBytes <= room && count < 40; ++next, ++count) {
      encode_record(SegmentRecord{next, values[next]}, out);
    }
    return count;
  }
};

FileLayout small_layout() {
  return *FileLayout::for_capacity(Bytes(400 << 10), Bytes(4096), Medium::flash);
}

struct Rig {
  ManualClock clock;
  FileLayout layout = small_layout();
  TestDevice device{{layout.total(), layout.meta_bytes, layout.segment_bytes, 4096, 16}, clock};
  Generations live;
  std::vector<std::uint32_t> told = std::vector<std::uint32_t>(64);  ///< at least this is on the device
  std::vector<std::pair<Lsn, SegmentRecord>> sent;
  Journal journal;

  Rig() : journal(make()) { run(); }
  Journal make() {
    Superblock fresh = superblock_for({"m", "l", "d", 1, ""}, layout);
    fresh.active_half = 1;
    auto made = Journal::create(fresh, 1, live);
    return std::move(*made);
  }
  /// Carries out what the journal asks for; true where all of it was fine.
  bool run() {
    bool fine = true;
    while (const auto request = journal.next(0)) {
      const Result<void> done = run_request(device, *request, clock, Seconds(1));
      fine = fine && !done.has_error();
      journal.done(done);
      note();
    }
    return fine;
  }
  void note() {
    for (const auto& [lsn, record] : sent) {
      if (lsn <= journal.written()) told[record.segment] = std::max(told[record.segment], record.generation);
    }
  }
  void raise(std::uint32_t segment) {
    const SegmentRecord record{segment, ++live.values[segment]};
    sent.emplace_back(journal.append(record), record);
  }
  /// What a start would find in this image.
  std::vector<std::uint32_t> found_in(const Image& image) {
    TestDevice after(device.geometry(), clock, image);
    StoreReader reader(after, clock, Seconds(1));
    const auto superblocks = reader.superblocks();
    EXPECT_FALSE(superblocks.has_error());
    EXPECT_FALSE(superblocks->empty());
    std::vector<std::uint32_t> values(64);
    if (superblocks.has_error() || superblocks->empty()) return values;
    const auto journal_found = reader.journal(superblocks->front().superblock, [&](const Record& record) {
      const auto& one = std::get<SegmentRecord>(record);
      values[one.segment] = std::max(values[one.segment], one.generation);
    });
    EXPECT_GT(journal_found->batches, 0U);
    return values;
  }
  void expect_told_is_found(const Image& image) {
    const std::vector<std::uint32_t> found = found_in(image);
    for (std::size_t i = 0; i < told.size(); ++i) EXPECT_GE(found[i], told[i]) << i;
  }
};

TEST(Journal, ClaimsNothingToBeWrittenBeforeItIs) {
  Rig rig;
  rig.raise(3);
  const Lsn lsn = rig.sent.back().first;
  EXPECT_LT(rig.journal.written(), lsn);
  const auto request = rig.journal.next(0);
  ASSERT_TRUE(request.has_value());
  EXPECT_FALSE(rig.journal.next(0).has_value()) << "one at a time";
  EXPECT_LT(rig.journal.written(), lsn);
  rig.journal.done(run_request(rig.device, *request, rig.clock, Seconds(1)));
  EXPECT_EQ(rig.journal.written(), lsn);
  rig.note();
  rig.expect_told_is_found(rig.device.image());
}

TEST(Journal, GoesOnThroughManyCheckpointsWhenItsHalvesFillUp) {
  Rig rig;
  const std::uint64_t generation = rig.journal.superblock().journal_generation;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    rig.raise(i % 64);
    EXPECT_TRUE(rig.run());
    if (i % 50 == 0) rig.expect_told_is_found(rig.device.image());
  }
  EXPECT_GT(rig.journal.superblock().journal_generation, generation + 5);
  EXPECT_EQ(rig.told, rig.live.values);
  rig.expect_told_is_found(rig.device.image());
}

TEST(Journal, LosesNothingThatItClaimedWhicheverRequestsFail) {
  for (std::uint64_t nth = 1; nth < 80; ++nth) {
    for (const std::uint64_t count : {1U, 2U, 5U}) {
      SCOPED_TRACE("from request " + std::to_string(nth) + " on " + std::to_string(count));
      Rig rig;
      rig.device.fail({.code = EIO, .nth = nth, .count = count});
      Random random(nth);
      for (std::uint32_t i = 0; i < 120; ++i) {
        rig.raise(static_cast<std::uint32_t>(random.below(64)));
        if (i % 3 == 0) rig.journal.request_sync();
        if (i % 40 == 0) rig.journal.request_checkpoint();
        rig.run();
        if (rig.journal.broken()) {
          rig.journal.request_checkpoint();
          rig.run();
        }
      }
      ASSERT_FALSE(rig.journal.broken());
      EXPECT_EQ(rig.told, rig.live.values) << "a checkpoint says what was dropped";
      rig.expect_told_is_found(rig.device.image());
    }
  }
}

TEST(Journal, NeverOverwritesTheSuperblockThatCounts) {
  Rig rig;
  Random random(5);
  for (std::uint64_t round = 0; round < 40; ++round) {
    if (round % 4 == 3) rig.device.fail({.code = EIO, .kind = IoKind::write, .nth = 1 + random.below(3)});
    rig.raise(static_cast<std::uint32_t>(round % 64));
    rig.journal.request_checkpoint();
    // A crash at every step, with every half of what was not durable.
    while (const auto request = rig.journal.next(0)) {
      for (int i = 0; i < 3; ++i) {
        TestDevice after(rig.device.geometry(), rig.clock, rig.device.crash(random));
        StoreReader reader(after, rig.clock, Seconds(1));
        const auto superblocks = reader.superblocks();
        ASSERT_FALSE(superblocks.has_error());
        ASSERT_FALSE(superblocks->empty());
        std::uint64_t batches = 0;
        for (const FoundSuperblock& found : *superblocks) {
          const auto journal = reader.journal(found.superblock, [](Record&) {});
          batches = std::max(batches, journal->batches);
        }
        ASSERT_GT(batches, 0U);
      }
      rig.journal.done(run_request(rig.device, *request, rig.clock, Seconds(1)));
    }
    rig.device.mend();
  }
}

TEST(Journal, SaysThatItWasClosedOnlyWhenItWas) {
  Rig rig;
  rig.raise(1);
  rig.journal.request_close();
  while (const auto request = rig.journal.next(0)) {
    TestDevice during(rig.device.geometry(), rig.clock, rig.device.image());
    StoreReader reader(during, rig.clock, Seconds(1));
    const bool clean = reader.superblocks()->front().superblock.clean;
    EXPECT_EQ(clean, rig.journal.closed());
    rig.journal.done(run_request(rig.device, *request, rig.clock, Seconds(1)));
  }
  EXPECT_TRUE(rig.journal.closed());
  EXPECT_TRUE(rig.journal.idle());
}

TEST(Journal, CutsATornTailAndCountsWhatItDropped) {
  Rig rig;
  const auto superblock = [&] { return rig.journal.superblock(); };
  for (std::uint32_t i = 0; i < 6; ++i) {
    rig.raise(i);
    rig.run();
  }
  Image image = rig.device.image();
  const auto half = static_cast<std::size_t>(rig.layout.journal_offset(superblock().active_half));
  // Batches of the checkpoint (two), then one a record; the third of those is torn.
  image[half + 4 * kPage + 60] ^= std::byte{1};
  TestDevice after(rig.device.geometry(), rig.clock, image);
  StoreReader reader(after, rig.clock, Seconds(1));
  const auto found = reader.journal(superblock(), [](Record&) {});
  EXPECT_EQ(found->batches, 4U);
  EXPECT_EQ(found->dropped, 4U) << "the torn one and three behind it";
}

}  // namespace
}  // namespace fulcrum::test
