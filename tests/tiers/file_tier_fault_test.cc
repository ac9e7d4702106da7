// What a file tier does when its device fails, lies, fills up or answers no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/devices.h"
#include "tests/tiers/file_tier_rig.h"

namespace fulcrum::test {
namespace {

/// A tier with some blocks, and how the device stands before the fault.
void prepare(Rig& rig) {
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(0, 0, 6, 1).good());
  ASSERT_TRUE(rig.write(1, 0, 6, 2).good());
}

std::size_t place_of(const Rig& rig, const Image& image, const BlockKey& key) {
  std::vector<std::byte> row(rig.row_size());
  content_of(key, row);
  const auto found = std::search(image.begin(), image.end(), row.begin(), row.end());
  EXPECT_NE(found, image.end());
  return static_cast<std::size_t>(found - image.begin());
}

TEST(FileTierFaults, AFlippedBitInARowIsAMissAndTheBlocksBeforeItArrive) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(prepare(rig));
  const std::size_t at = place_of(rig, rig.device->image(), key_of(0, 2));
  rig.device->change([at](Image& image) { image[at + 99] ^= std::byte{4}; });
  const Ended read = rig.read(0, 0, 6);
  EXPECT_EQ(read.kind(), ErrorKind::corrupt);
  EXPECT_EQ(read.blocks, 2U);
  EXPECT_EQ(read.wrong, 0U);
  EXPECT_EQ(rig.tier->tally().corrupt, 1U) << "though it was read once more";
  EXPECT_EQ(rig.tier->take_lost(), keys_of(0, 2, 1));
  EXPECT_FALSE(rig.tier->contains(key_of(0, 2)));
  EXPECT_EQ(rig.readable(0, 3, 3), 3U) << "the others are good";
  EXPECT_EQ(rig.tier->status().health, Health::healthy) << "a checksum is not the device's word";
  EXPECT_TRUE(rig.write(0, 2, 1).good());
  EXPECT_EQ(rig.readable(0, 0, 6), 6U);
}

TEST(FileTierFaults, ARowThatIsReadRightTheSecondTimeIsGood) {
  Rig rig;
  LyingDevice* lying = nullptr;
  const auto opened = rig.open({}, [&](std::unique_ptr<TestDevice> inner) {
    auto outer = std::make_unique<LyingDevice>(std::move(inner), Lie::flipped_byte, 5);
    lying = outer.get();
    return outer;
  });
  ASSERT_FALSE(opened.has_error());
  ASSERT_TRUE(rig.write(0, 0, 8).good());
  std::uint32_t good = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const Ended read = rig.read(0, i, 1);
    EXPECT_EQ(read.wrong, 0U);
    good += read.good() ? 1U : 0U;
  }
  EXPECT_GT(lying->lies(), 0U);
  EXPECT_EQ(good, 8U);
}

TEST(FileTierFaults, WritesThatWereLostOrWentAstrayAreMisses) {
  for (const Lie lie : {Lie::lost_write, Lie::misdirected_write, Lie::flipped_byte}) {
    std::uint64_t lies = 0;
    for (std::uint64_t every = 2; every < 9; ++every) {
      Rig rig;
      LyingDevice* lying = nullptr;
      const auto opened = rig.open({}, [&](std::unique_ptr<TestDevice> inner) {
        auto outer = std::make_unique<LyingDevice>(std::move(inner), lie, every);
        lying = outer.get();
        return outer;
      });
      if (opened.has_error()) continue;  // its very first page did not hold
      for (std::uint64_t chain = 0; chain < 4; ++chain) static_cast<void>(rig.write(chain, 0, 5));
      for (std::uint64_t chain = 0; chain < 4; ++chain) {
        EXPECT_EQ(rig.read(chain, 0, 5).wrong, 0U);
        static_cast<void>(rig.readable(chain, 0, 5));
      }
      lies += lying->lies();
      // And after a restart, with a journal that may be as wrong.
      const Image image = static_cast<TestDevice&>(lying->inner()).image();
      Rig after;
      if (after.open(image).has_error()) continue;
      for (std::uint64_t chain = 0; chain < 4; ++chain) static_cast<void>(after.readable(chain, 0, 5));
    }
    EXPECT_GT(lies, 10U);
  }
}

TEST(FileTierFaults, SwappedTruncatedAndZeroedSegmentsAreMisses) {
  Rig rig{Bytes(4096), Bytes(4 << 20)};
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  for (std::uint64_t chain = 0; chain < 30; ++chain) ASSERT_TRUE(rig.write(chain, 0, 6).good());
  rig.must_close();
  const Image image = rig.device->image();
  const auto segment = static_cast<std::size_t>(rig.options.layout.segment_bytes.value());
  const auto meta = static_cast<std::size_t>(rig.options.layout.meta_bytes.value());
  const auto check = [&](const std::function<void(Image&)>& damage) {
    Image damaged = image;
    damage(damaged);
    Rig after{Bytes(4096), Bytes(4 << 20)};
    EXPECT_FALSE(after.open(damaged).has_error());
    std::uint32_t hits = 0;
    for (std::uint64_t chain = 0; chain < 30; ++chain) hits += after.readable(chain, 0, 6);
    return hits;
  };
  const std::uint32_t all = check([](Image&) {});
  EXPECT_EQ(all, 180U);
  const std::uint32_t swapped = check([&](Image& bytes) {
    std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(meta),
                     bytes.begin() + static_cast<std::ptrdiff_t>(meta + segment),
                     bytes.begin() + static_cast<std::ptrdiff_t>(meta + segment));
  });
  const std::uint32_t zeroed = check([&](Image& bytes) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(meta), segment, std::byte{0});
  });
  const std::uint32_t cut = check([&](Image& bytes) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(meta + segment / 2), segment / 2, std::byte{0});
  });
  EXPECT_LT(swapped, zeroed);
  EXPECT_LT(zeroed, cut);
  EXPECT_LT(cut, all);
}

TEST(FileTierFaults, AnOldExtentPutBackIntoAReusedSegmentIsAMiss) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(0, 0, 6, -9).good());
  const Image early = rig.device->image();
  std::uint64_t chain = 1;
  while (rig.tier->contains(key_of(0, 0))) ASSERT_TRUE(rig.write(chain++, 0, 6, 1).good());
  // The same blocks once more; the segments' old bytes come back from before.
  while (!rig.tier->contains(key_of(0, 0))) ASSERT_TRUE(rig.write(0, 0, 6, 9).good());
  rig.device->change([&](Image& image) {
    const auto meta = static_cast<std::ptrdiff_t>(rig.options.layout.meta_bytes.value());
    std::copy(early.begin() + meta, early.end(), image.begin() + meta);
  });
  EXPECT_EQ(rig.readable(0, 0, 6), 0U);
}

TEST(FileTierFaults, AnErrorAtAnyRequestCostsOnlyWhatItConcerns) {
  std::uint64_t failures = 0;
  for (std::uint64_t nth = 1; nth < 60; ++nth) {
    SCOPED_TRACE("request " + std::to_string(nth));
    Rig rig;
    ASSERT_NO_FATAL_FAILURE(rig.must_open());
    rig.device->fail({.code = EIO, .nth = nth});
    std::uint32_t failed = 0;
    for (std::uint64_t chain = 0; chain < 5; ++chain) failed += rig.write(chain, 0, 4).good() ? 0U : 1U;
    std::uint32_t hits = 0;
    for (std::uint64_t chain = 0; chain < 5; ++chain) hits += rig.readable(chain, 0, 4);
    const bool grown = rig.tier->status().reason.empty();
    rig.device->mend();
    rig.pass(Seconds(5));
    EXPECT_EQ(rig.tier->status().health, Health::healthy) << "one error, or healed by now";
    EXPECT_TRUE(rig.write(9, 0, 4).good());
    EXPECT_EQ(rig.readable(9, 0, 4), 4U);
    EXPECT_GE(hits + 4 * failed, grown ? 19U : 4U) << "without a segment there is less room for a while";
    failures += failed;
    ASSERT_NO_FATAL_FAILURE(rig.must_open(rig.device->image()));
    for (std::uint64_t chain = 0; chain < 5; ++chain) static_cast<void>(rig.readable(chain, 0, 4));
    EXPECT_EQ(rig.readable(9, 0, 4), 4U) << "a restart finds what was written after the error";
  }
  EXPECT_GT(failures, 5U);
}

TEST(FileTierFaults, ManyErrorsDisableItAndProbesBringItBack) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(prepare(rig));
  rig.device->fail({.code = EIO, .count = DeviceFault::kAlways});
  for (int i = 0; i < 12; ++i) static_cast<void>(rig.read(1, static_cast<std::uint32_t>(i % 6), 1));
  for (int i = 0; i < 12; ++i) static_cast<void>(rig.write(5, static_cast<std::uint32_t>(i), 1));
  EXPECT_EQ(rig.tier->status().health, Health::disabled);
  EXPECT_EQ(rig.read(0, 0, 1).kind(), ErrorKind::device);
  rig.pass(Seconds(10));
  EXPECT_EQ(rig.tier->status().health, Health::disabled) << "probes fail as well";
  rig.device->mend();
  rig.pass(Seconds(130));
  EXPECT_EQ(rig.tier->status().health, Health::healthy);
  EXPECT_EQ(rig.readable(0, 0, 6), 6U);
  EXPECT_TRUE(rig.write(6, 0, 3).good());
  ASSERT_NO_FATAL_FAILURE(rig.must_open(rig.device->image()));
  EXPECT_EQ(rig.readable(6, 0, 3), 3U);
}

TEST(FileTierFaults, LivesWithTheSpaceThereIsAndGrowsWhenMoreComes) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  const Bytes some = rig.options.layout.meta_bytes + rig.options.layout.segment_bytes * 5;
  rig.device->set_space(some);
  for (std::uint64_t chain = 0; chain < 80; ++chain) {
    ASSERT_TRUE(rig.write(chain, 0, 5, static_cast<float>(chain)).good()) << chain;
    EXPECT_LE(rig.tier->status().allocated, some);
    EXPECT_LE(rig.device->space_taken(), some);
  }
  EXPECT_EQ(rig.tier->status().health, Health::healthy);
  EXPECT_NE(rig.tier->status().reason.find("5 of"), std::string::npos) << rig.tier->status().reason;
  EXPECT_GT(rig.readable(79, 0, 5), 0U);
  const std::uint64_t before = rig.tier->status().blocks;
  rig.device->set_space(std::nullopt);
  rig.pass(Seconds(70));
  for (std::uint64_t chain = 100; chain < 200; ++chain)
    ASSERT_TRUE(rig.write(chain, 0, 5, static_cast<float>(chain)).good());
  EXPECT_GT(rig.tier->status().blocks, before);
  EXPECT_TRUE(rig.tier->status().reason.empty());
}

TEST(FileTierFaults, RefusesWritesWhereThereIsNoSpaceAtAllAndRecoversWhenItReturns) {
  for (const int segments : {0, 1, 2}) {
    SCOPED_TRACE(std::to_string(segments) + " segments fit");
    Rig rig;
    ASSERT_NO_FATAL_FAILURE(rig.must_open());
    rig.device->set_space(rig.options.layout.meta_bytes +
                          rig.options.layout.segment_bytes * static_cast<std::int64_t>(segments));
    std::uint32_t failed = 0;
    for (std::uint64_t chain = 0; chain < 40; ++chain) {
      const Ended written = rig.write(chain, 0, 5);
      if (!written.good()) ++failed;
      if (chain == 0 && segments == 0) {
        EXPECT_EQ(written.kind(), ErrorKind::no_space) << written.result.error().message();
      }
    }
    EXPECT_EQ(failed, segments == 0 ? 40U : 0U);
    EXPECT_EQ(rig.tier->status().health, segments == 0 ? Health::degraded : Health::healthy);
    rig.device->set_space(std::nullopt);
    rig.pass(Seconds(130));
    EXPECT_EQ(rig.tier->status().health, Health::healthy) << rig.tier->status().reason;
    EXPECT_TRUE(rig.write(99, 0, 5).good());
    EXPECT_EQ(rig.readable(99, 0, 5), 5U);
  }
}

TEST(FileTierFaults, ReadsGoOnWhenTheFilesystemBecomesReadOnly) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(prepare(rig));
  rig.device->fail({.code = EROFS, .kind = IoKind::write, .count = DeviceFault::kAlways});
  rig.device->fail({.code = EROFS, .kind = IoKind::allocate, .count = DeviceFault::kAlways});
  EXPECT_EQ(rig.write(3, 0, 2).kind(), ErrorKind::read_only);
  EXPECT_EQ(rig.tier->status().health, Health::degraded);
  EXPECT_EQ(rig.write(4, 0, 2).kind(), ErrorKind::read_only);
  EXPECT_EQ(rig.readable(0, 0, 6) + rig.readable(1, 0, 6), 12U);
  rig.device->mend();
  rig.pass(Seconds(125));
  EXPECT_EQ(rig.tier->status().health, Health::healthy);
  EXPECT_TRUE(rig.write(3, 0, 2).good());
}

TEST(FileTierFaults, AStalledDeviceHoldsUpNothingButItsOwnJobs) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(prepare(rig));
  rig.device->stall();
  const Rows rows(6, 4096);
  ASSERT_FALSE(rig.tier->read({900, Urgency::load, keys_of(0, 0, 6), rows.pointers(6)}).has_error());
  const Rows source(2, 4096);
  source.fill(keys_of(7, 0, 2));
  ASSERT_FALSE(
      rig.tier
          ->write(
              {901, BlockKey::root(rig.options.name), 0, keys_of(7, 0, 2), {source.at(0), source.at(1)}, 0})
          .has_error());
  rig.pass(Seconds(3));
  EXPECT_EQ(rig.tier->in_flight(), 2U);
  EXPECT_FALSE(rig.tier->contains(key_of(7, 0))) << "not before its write was reported";
  rig.tier->cancel(900);
  rig.device->release();
  const Ended read = rig.wait(900);
  EXPECT_TRUE(read.ended);
  for (std::uint32_t i = 0; i < read.blocks; ++i) EXPECT_TRUE(rows.right(i, key_of(0, i)));
  EXPECT_TRUE(rig.wait(901).good());
  EXPECT_EQ(rig.readable(7, 0, 2), 2U);

  rig.device->stall();
  ASSERT_FALSE(rig.tier->read({902, Urgency::load, keys_of(0, 0, 6), rows.pointers(6)}).has_error());
  const Seconds before = rig.clock.now();
  EXPECT_TRUE(rig.tier->close(Seconds(2)).has_error());
  EXPECT_LE(rig.clock.now() - before, Seconds(2.1));
  EXPECT_EQ(rig.tier->in_flight(), 1U) << "the device has the rows";
}

TEST(FileTierFaults, ADeviceThatNeverAnswersEndsTheStartInTime) {
  Rig rig;
  rig.options.open_limit = Seconds(3);
  const auto opened = rig.open({}, [](std::unique_ptr<TestDevice> inner) {
    inner->stall();
    return inner;
  });
  ASSERT_TRUE(opened.has_error());
  EXPECT_EQ(opened.error().kind, ErrorKind::timed_out);
  EXPECT_LE(rig.clock.now(), Seconds(3.1));
}

TEST(FileTierFaults, ACompletionThatComesTwiceStopsTheProgram) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(prepare(rig));
  rig.device->complete_twice();
  EXPECT_DEATH(static_cast<void>(rig.read(0, 0, 6)), "");
}

}  // namespace
}  // namespace fulcrum::test
