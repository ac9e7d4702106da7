// The file tier in everyday use: what is written comes back, after closing and after dying.
#include "tests/tiers/file_tier_rig.h"

#include "tests/support/devices.h"

namespace fulcrum::test {
namespace {

TEST(FileTier, GivesBackWhatWasWritten) {
  for (const std::int64_t size : {4096, 5000, 12288}) {
    Rig rig{Bytes(size), Bytes(4 << 20)};
    rig.must_open();
    EXPECT_TRUE(rig.tier->recovery().fresh);
    ASSERT_TRUE(rig.write(1, 0, 5).good());
    const Ended read = rig.read(1, 0, 5);
    EXPECT_TRUE(read.good());
    EXPECT_EQ(read.blocks, 5U);
    EXPECT_EQ(read.wrong, 0U);
    EXPECT_EQ(rig.tier->status().blocks, 5U);
    EXPECT_EQ(rig.tier->tally().blocks_written, 5U);
    EXPECT_EQ(rig.tier->tally().blocks_read, 5U);
  }
}

// A real drive may be asked for its serial number, and the answer waits behind all of its requests: that once
// halved the rate of reads.
TEST(FileTier, AsksTheDeviceForBytesAloneWhileItServes) {
  Rig rig;
  CountingDevice* counting = nullptr;
  const auto opened = rig.open({}, [&](std::unique_ptr<TestDevice> device) {
    auto wrapped = std::make_unique<CountingDevice>(std::move(device));
    counting = wrapped.get();
    return wrapped;
  });
  ASSERT_TRUE(opened.has_value());
  const std::size_t before = counting->identified();
  ASSERT_TRUE(rig.write(1, 0, 5).good());
  ASSERT_TRUE(rig.read(1, 0, 5).good());
  rig.tier->cancel(rig.last_job);
  rig.pass(Seconds(2));
  EXPECT_EQ(counting->identified(), before);
}

TEST(FileTier, CountsTheLeadingBlocksBeforeOneThatItDoesNotHold) {
  Rig rig;
  rig.must_open();
  ASSERT_TRUE(rig.write(1, 0, 3).good());
  const Ended read = rig.read(1, 0, 5);
  EXPECT_EQ(read.kind(), ErrorKind::not_found);
  EXPECT_EQ(read.blocks, 3U);
  EXPECT_EQ(read.wrong, 0U);
  EXPECT_EQ(rig.read(2, 0, 1).kind(), ErrorKind::not_found);
}

TEST(FileTier, RemembersEverythingAfterACleanCloseAndAfterTheProcessDied) {
  for (const bool clean : {true, false}) {
    Rig rig;
    rig.must_open();
    ASSERT_TRUE(rig.write(1, 0, 5, 2).good());
    ASSERT_TRUE(rig.write(2, 3, 4, -1).good());
    rig.tier->erase(std::vector{key_of(1, 4)});
    rig.tier->touch(std::vector{key_of(1, 0)}, 9);
    if (clean) rig.must_close();
    rig.must_open(rig.device->image());
    EXPECT_EQ(rig.tier->recovery().clean, clean);
    EXPECT_FALSE(rig.tier->recovery().fresh);
    EXPECT_EQ(rig.readable(1, 0, 4), 4U);
    EXPECT_EQ(rig.readable(2, 3, 4), 4U);
    EXPECT_EQ(rig.tier->contains(key_of(1, 4)), !clean) << "an erasure is written down with the worth";
    float best = -100;
    rig.tier->each_run([&](const StoredRun& run) { best = std::max(best, run.worth); });
    EXPECT_EQ(best, clean ? 9.0F : 2.0F);
  }
}

TEST(FileTier, TellsTheRunsItHoldsWithTheirPlaceInTheChain) {
  Rig rig;
  rig.must_open();
  ASSERT_TRUE(rig.write(1, 0, 5, 3).good());
  rig.tier->erase(std::vector{key_of(1, 2)});
  std::vector<StoredRun> runs;
  rig.tier->each_run([&](const StoredRun& run) { runs.push_back(run); });
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].keys, keys_of(1, 0, 2));
  EXPECT_EQ(runs[0].parent, BlockKey::root(rig.options.name));
  EXPECT_EQ(runs[1].keys, keys_of(1, 3, 2));
  EXPECT_EQ(runs[1].first, 3U);
  EXPECT_EQ(runs[1].parent, key_of(1, 2));
  EXPECT_EQ(runs[1].worth, 3.0F);
}

TEST(FileTier, ReadsNeighbouringRowsInFewTransfers) {
  Rig rig{Bytes(4096), Bytes(4 << 20)};
  rig.options.io_size = Bytes(64 << 10);
  CountingDevice* counting = nullptr;
  const auto opened = rig.open({}, [&](std::unique_ptr<TestDevice> inner) {
    auto outer = std::make_unique<CountingDevice>(std::move(inner));
    counting = outer.get();
    return outer;
  });
  ASSERT_FALSE(opened.has_error());
  ASSERT_TRUE(rig.write(1, 0, 32).good());
  const auto reads = [&] { return std::ranges::count(counting->requests(), IoKind::read, &IoRequest::kind); };
  const auto before = reads();
  EXPECT_EQ(rig.read(1, 0, 32).wrong, 0U);
  EXPECT_LE(reads() - before, 4) << "128 KiB in pieces of 64 KiB, and what a segment's end may cut";
}

TEST(FileTier, GathersWritesUntilThereIsACommitOrTheyHaveLingered) {
  Rig rig;
  rig.options.linger = Seconds(0.5);
  rig.options.commit = Bytes(16384);
  rig.must_open();
  const Rows rows(8, 4096);
  const auto give = [&](JobId id, std::uint32_t first, std::uint32_t count) {
    const auto keys = keys_of(1, first, count);
    TierWrite job{id, key_of(1, first - 1), first, keys, {}, 0};
    for (std::uint32_t i = 0; i < count; ++i) job.rows.push_back(rows.at(i));
    rows.fill(keys);
    ASSERT_FALSE(rig.tier->write(std::move(job)).has_error());
  };
  give(1, 1, 1);
  EXPECT_FALSE(rig.wait(1, Seconds(0.4)).ended);
  EXPECT_TRUE(rig.wait(1, Seconds(0.2)).ended) << "it has lingered";
  const Seconds now = rig.clock.now();
  give(2, 10, 4);
  EXPECT_TRUE(rig.wait(2, Seconds(0.2)).ended) << "it is a commit";
  EXPECT_LT(rig.clock.now() - now, Seconds(0.2));
}

TEST(FileTier, IsNotWrittenToWhereABlockIsHeldAlready) {
  Rig rig;
  rig.must_open();
  ASSERT_TRUE(rig.write(1, 0, 4).good());
  const Bytes before = rig.tier->tally().medium_written;
  ASSERT_TRUE(rig.write(1, 0, 4, 5).good());
  EXPECT_EQ(rig.tier->tally().medium_written, before);
  EXPECT_EQ(rig.readable(1, 0, 4), 4U);
}

TEST(FileTier, RefusesAnotherNamespaceLayoutOrFormatAndSaysWhatDiffers) {
  Rig rig;
  rig.must_open();
  ASSERT_TRUE(rig.write(1, 0, 2).good());
  const Image image = rig.device->image();
  const auto refusal = [&](const auto& change) {
    Rig other;
    change(other.options);
    const Result<void> opened = other.open(image);
    EXPECT_TRUE(opened.has_error());
    return opened.has_error() ? opened.error() : Error{};
  };
  const Error model = refusal([](FileTierOptions& options) { options.name.model = "model-8b"; });
  EXPECT_EQ(model.kind, ErrorKind::mismatch);
  EXPECT_NE(model.detail.find("model is \"model-7b\", expected \"model-8b\""), std::string::npos)
      << model.detail;
  const Error salt = refusal([](FileTierOptions& options) { options.name.salt = "other"; });
  EXPECT_NE(salt.detail.find("salt"), std::string::npos);
  const Error rows = refusal([](FileTierOptions& options) { options.layout.row_bytes = Bytes(4000); });
  EXPECT_EQ(rows.kind, ErrorKind::mismatch);
  EXPECT_NE(rows.detail.find("row size"), std::string::npos);
}

TEST(FileTier, LetsALookerOnSeeAnyStoreAndWritesNothing) {
  Rig rig;
  rig.must_open();
  ASSERT_TRUE(rig.write(1, 0, 3).good());
  const Image image = rig.device->image();
  Rig looker;
  looker.options.name.model = "unknown";
  looker.options.read_only = true;
  looker.must_open(image);
  EXPECT_EQ(looker.tier->superblock().model, "model-7b");
  EXPECT_EQ(looker.tier->superblock().writer, "pid 1 on host test");
  EXPECT_EQ(looker.readable(1, 0, 3), 3U);
  EXPECT_EQ(looker.write(2, 0, 1).kind(), ErrorKind::read_only);
  looker.must_close();
  EXPECT_EQ(looker.device->image(), image);
}

TEST(FileTier, StartsAnewWhereOnlyZerosAreAndRefusesTwoDamagedSuperblocks) {
  Rig rig;
  rig.must_open();
  ASSERT_TRUE(rig.write(1, 0, 2).good());
  rig.must_close();
  Image image = rig.device->image();
  image[100] ^= std::byte{1};
  image[4096 + 100] ^= std::byte{1};
  EXPECT_EQ(rig.open(image).error().kind, ErrorKind::corrupt);
  std::fill_n(image.begin(), 8192, std::byte{0});
  EXPECT_EQ(rig.open(image).error().kind, ErrorKind::corrupt) << "its segments hold blocks";
  std::ranges::fill(image, std::byte{0});
  rig.must_open(image);
  EXPECT_TRUE(rig.tier->recovery().fresh);
  EXPECT_EQ(rig.tier->status().blocks, 0U);
}

TEST(FileTier, WritesRecordsThatAreLargerThanATransfer) {
  constexpr std::uint64_t kChains = 24;
  Rig rig(Bytes(4096), Bytes(24 << 20));
  rig.options.io_size = Bytes(4096);
  rig.must_open();
  for (std::uint64_t chain = 1; chain <= kChains; ++chain) {
    ASSERT_TRUE(rig.write(chain, 0, 100).good());
    rig.tier->touch(keys_of(chain, 0, 100), 7);
  }
  rig.pass(Seconds(31));  // the worth of all of them, in one batch of several pages
  for (std::uint64_t chain = 1; chain <= kChains; ++chain) rig.tier->touch(keys_of(chain, 0, 100), 9);
  const std::int64_t half = rig.options.layout.journal_offset(rig.tier->superblock().active_half);
  rig.device->fail(
      {.kind = IoKind::write, .nth = 2, .begin = half, .end = half + rig.options.layout.journal_bytes()});
  rig.pass(Seconds(31));  // one page of the batch fails, and with it all of the batch
  rig.device->mend();
  ASSERT_TRUE(rig.write(99, 0, 4).good());
  ASSERT_NO_FATAL_FAILURE(rig.must_open(rig.device->image()));
  EXPECT_EQ(rig.tier->recovery().dropped_records, 0U);
  EXPECT_EQ(rig.tier->recovery().blocks, kChains * 100 + 4);
  std::size_t worthy = 0;
  rig.tier->each_run([&](const StoredRun& run) { worthy += run.worth == 9 ? run.keys.size() : 0; });
  EXPECT_EQ(worthy, kChains * 100);
  EXPECT_EQ(rig.readable(99, 0, 4), 4U);
}

TEST(FileTier, KeepsItsWriteHistoryAcrossRestartsAndDays) {
  Rig rig;
  rig.must_open();
  ASSERT_TRUE(rig.write(1, 0, 8).good());
  rig.must_close();
  const WriteHistory before = rig.tier->history();
  EXPECT_GE(before.ever, Bytes(32768));
  EXPECT_EQ(before.today, before.ever);
  EXPECT_EQ(before.day, 20000);
  rig.must_open(rig.device->image());
  EXPECT_GE(rig.tier->history().ever, before.ever - Bytes(64 << 10));
  rig.options.wall += Seconds(86400);
  rig.must_close();
  rig.must_open(rig.device->image());
  EXPECT_GE(rig.tier->history().ever, before.ever);
  EXPECT_LT(rig.tier->history().today, before.today);
  EXPECT_EQ(rig.tier->history().day, 20001);
}

TEST(FileTier, EndsACancelledJobAndTakesNoneAfterClosing) {
  Rig rig;
  rig.must_open();
  ASSERT_TRUE(rig.write(1, 0, 4).good());
  rig.device->stall(IoKind::read);
  const Rows rows(4, 4096);
  ASSERT_FALSE(rig.tier->read({50, Urgency::load, keys_of(1, 0, 4), rows.pointers(4)}).has_error());
  EXPECT_FALSE(rig.wait(50, Seconds(2)).ended);
  rig.tier->cancel(50);
  EXPECT_FALSE(rig.wait(50, Seconds(2)).ended) << "the device has its memory still";
  EXPECT_EQ(rig.tier->in_flight(), 1U);
  const Seconds before = rig.clock.now();
  static_cast<void>(rig.tier->close(Seconds(3)));
  EXPECT_LE(rig.clock.now() - before, Seconds(3.1));
  EXPECT_FALSE(rig.wait(50, Seconds(1)).ended);
  rig.device->release();
  const Ended late = rig.wait(50, Seconds(1));
  EXPECT_TRUE(late.ended);
  EXPECT_EQ(rig.tier->in_flight(), 0U);
  EXPECT_EQ(rig.read(1, 0, 1).kind(), ErrorKind::stale);
}

}  // namespace
}  // namespace fulcrum::test
