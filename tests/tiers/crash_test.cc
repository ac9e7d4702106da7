// Crashes at every point of short workloads: whatever subset of the sectors that no sync has covered is left,
// a key brings the only bytes ever written under it, or it is a miss.
#include <gtest/gtest.h>

#include "tests/support/devices.h"
#include "tests/tiers/file_tier_rig.h"
#include "tiers/format.h"

namespace fulcrum::test {
namespace {

constexpr std::uint32_t kBlocks = 8;  // of each chain that is looked for afterwards
constexpr std::uint64_t kChains = 3;

/// Calls a function before each request goes to the device.
class Watched final : public PassThrough {
 public:
  Watched(std::unique_ptr<Device> inner, std::function<void()> at)
      : PassThrough(std::move(inner)), at_(std::move(at)) {}

 private:
  void before(IoRequest& /*request*/, std::uint64_t /*number*/) override { at_(); }
  std::function<void()> at_;
};

Rig small_rig() {
  Rig rig{Bytes(4096), Bytes(400 << 10)};
  rig.options.commit = Bytes(4096);
  return rig;
}

Rig turning_rig() {
  Rig rig = small_rig();
  rig.options.turning = true;
  rig.options.commit = Bytes(16384);
  return rig;
}

struct Survey {
  std::uint64_t images = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};

/// Opens what a crash has left and looks for every key there may be.
void look(const Image& image, Survey& survey, const std::vector<BlockKey>& safe = {}) {
  Rig after = small_rig();
  const Result<void> opened = after.open(image);
  ASSERT_FALSE(opened.has_error()) << opened.error().message();
  ++survey.images;
  for (const BlockKey& key : safe) EXPECT_TRUE(after.tier->contains(key)) << "durable, and gone";
  for (std::uint64_t chain = 0; chain < kChains; ++chain) {
    const std::uint32_t hits = after.readable(chain, 0, kBlocks);
    survey.hits += hits;
    survey.misses += kBlocks - hits;
  }
}

/// Images for a crash now: all subsets of whole writes where they are few, of single sectors likewise, and a
/// number of random ones.
void crash_every_way(const TestDevice& device, Random& random,
                     const std::function<void(const Image&)>& found) {
  constexpr std::size_t kExhaustive = 6;
  constexpr int kRandom = 12;
  const std::vector<SectorWrite> pending = device.pending();
  std::vector<std::uint64_t> requests;
  for (const SectorWrite& sector : pending) {
    if (requests.empty() || requests.back() != sector.request) requests.push_back(sector.request);
  }
  const auto by_request = [&](std::uint64_t mask) {
    return device.crash([&, mask](std::size_t, const SectorWrite& sector) {
      const auto which = std::ranges::find(requests, sector.request) - requests.begin();
      return ((mask >> which) & 1) != 0;
    });
  };
  const std::size_t last = std::min(requests.size(), kExhaustive);
  const std::uint64_t older = (std::uint64_t{1} << (requests.size() - last)) - 1;
  for (std::uint64_t mask = 0; mask < std::uint64_t{1} << last; ++mask) {
    found(by_request(older | mask << (requests.size() - last)));
  }
  for (int i = 0; i < kRandom; ++i) found(device.crash(random));
  // The last write torn at each of its sectors, in both directions.
  for (std::size_t cut = 0; cut < std::min<std::size_t>(pending.size(), 8); ++cut) {
    found(device.crash([&](std::size_t i, const SectorWrite&) { return i + cut < pending.size(); }));
    found(device.crash([&](std::size_t i, const SectorWrite&) { return i != pending.size() - 1 - cut; }));
  }
}

/// At most 8 writes with all that a tier does between them.
void workload(Rig& rig, const std::function<void()>& step) {
  const auto run = [&](std::uint64_t chain, std::uint32_t first, std::uint32_t count, float worth) {
    static_cast<void>(rig.write(chain, first, count, worth));
    step();
  };
  run(0, 0, 1, 1);
  run(1, 0, 3, 4);
  rig.tier->erase(keys_of(1, 1, 1));
  rig.pass(Seconds(2));  // a sync
  step();
  run(0, 1, 2, 2);
  run(2, 0, 4, 0);
  run(2, 4, 4, 0);
  run(1, 1, 1, 3);
  static_cast<void>(rig.tier->close(Seconds(1)));
  step();
}

class CrashOn : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Crash, CrashOn, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "TurningDisks" : "Flash"; });

TEST_P(CrashOn, AtEveryRequestLeavesRightBytesOrMisses) {
  Rig rig = GetParam() ? turning_rig() : small_rig();
  Random random(11);
  Survey survey;
  TestDevice* device = nullptr;
  std::size_t points = 0;
  const auto opened = rig.open({}, [&](std::unique_ptr<TestDevice> inner) {
    device = inner.get();
    return std::make_unique<Watched>(std::move(inner), [&] {
      ++points;
      crash_every_way(*device, random, [&](const Image& image) { look(image, survey); });
    });
  });
  ASSERT_FALSE(opened.has_error());
  workload(rig, [] {});
  EXPECT_GT(points, 40U);
  EXPECT_GT(survey.hits, survey.images) << "a tier that forgets everything would pass otherwise";
  EXPECT_GT(survey.misses, survey.images);
  std::printf("%zu crash points, %lu images, %lu hits, %lu misses\n", points, survey.images, survey.hits,
              survey.misses);
}

void forget_nothing_durable(Rig& rig, Seconds durable_after) {
  Random random(12);
  Survey survey;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(0, 0, 3).good());
  rig.pass(durable_after);
  ASSERT_TRUE(rig.write(1, 0, 3).good());
  crash_every_way(*rig.device, random, [&](const Image& image) { look(image, survey, keys_of(0, 0, 3)); });
  rig.must_close();
  crash_every_way(*rig.device, random, [&](const Image& image) { look(image, survey, keys_of(1, 0, 3)); });
  EXPECT_GT(survey.images, 50U);
}

TEST(Crash, ForgetsNothingThatWasDurable) {
  Rig rig = small_rig();
  forget_nothing_durable(rig, Seconds(3));
}

TEST(Crash, ForgetsNothingThatWasDurableOnATurningDisk) {
  Rig rig = turning_rig();
  forget_nothing_durable(rig, Seconds(61));
}

TEST(Crash, ExhaustivelyOverTheSectorsOfOneUnsyncedWriteAndItsRecord) {
  // Header, row and journal batch: 24 sectors. All subsets of the batch's 8 with the data whole, all subsets
  // of the row's 8 and of the header's 8 with the record whole, and of 4 sectors of each.
  Rig rig = small_rig();
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(0, 0, 1).good());
  const std::size_t pending = rig.device->pending().size();
  ASSERT_EQ(pending, 24U);
  Survey survey;
  for (std::uint64_t part = 0; part < 3; ++part) {
    for (std::uint64_t subset = 0; subset < 256; ++subset) {
      const std::uint64_t others = 0xffffff & ~(std::uint64_t{0xff} << (8 * part));
      look(rig.device->crash(others | subset << (8 * part)), survey);
    }
  }
  for (std::uint64_t subset = 0; subset < 4096; subset += 3) {
    const std::uint64_t spread =
        (subset & 0xf) * 0x11 | (subset >> 4 & 0xf) * 0x1100 | (subset >> 8 & 0xf) * 0x110000;
    look(rig.device->crash(spread), survey);
  }
  EXPECT_GT(survey.hits, 0U);
}

TEST(Crash, DuringRecoveryTwiceLeavesRightBytesOrMisses) {
  Rig rig = small_rig();
  Random random(13);
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  workload(rig, [] {});
  Survey survey;
  const std::function<void(const Image&, int)> recover = [&](const Image& image, int depth) {
    Rig again = small_rig();
    TestDevice* device = nullptr;
    const auto opened = again.open(image, [&](std::unique_ptr<TestDevice> inner) {
      device = inner.get();
      return std::make_unique<Watched>(std::move(inner), [&] {
        for (int i = 0; i < 6; ++i) {
          const Image crashed = device->crash(random);
          if (depth > 1) {
            recover(crashed, depth - 1);
          } else {
            look(crashed, survey);
          }
        }
      });
    });
    ASSERT_FALSE(opened.has_error()) << opened.error().message();
  };
  recover(rig.device->image(), 2);
  EXPECT_GT(survey.images, 500U);
  EXPECT_GT(survey.hits, survey.images);
}

TEST(Crash, TheOracleNoticesBytesThatNoChecksumCanTellFromRightOnes) {
  // Row and checksum are changed alike: what a tier without checksums would do with any flipped bit.
  Rig rig = small_rig();
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(0, 0, 1).good());
  rig.must_close();
  const FileLayout& layout = rig.options.layout;
  Superblock superblock = rig.tier->superblock();
  Image image = rig.device->image();
  for (const int slot : {0, 1}) {
    const auto found =
        decode_superblock(std::span(image).subspan(static_cast<std::size_t>(slot) * kPage, kPage));
    if (!found.has_error() && found->sequence > superblock.sequence) superblock = *found;
  }
  std::size_t at = static_cast<std::size_t>(layout.journal_offset(superblock.active_half));
  bool changed = false;
  for (;;) {
    const auto batch = decode_batch(std::span(image).subspan(at), superblock.journal_generation);
    if (batch.has_error()) break;
    std::vector<std::byte> records;
    for (Record& record : *decode_records(std::span(image).subspan(at), *batch)) {
      if (auto* extent = std::get_if<ExtentFacts>(&record)) {
        const std::uint32_t page = row_page(extent->page, 0, layout.stride());
        const auto row = std::span(image).subspan(
            static_cast<std::size_t>(layout.segment_offset(extent->segment)) + page * kPage, kPage);
        row[7] ^= std::byte{1};
        extent->blocks[0].sum =
            row_sum(row, extent->blocks[0].key, extent->segment, page, extent->generation);
        changed = true;
      }
      encode_record(record, records);
    }
    const std::size_t bytes = (batch->bytes + kPage - 1) / kPage * kPage;
    std::memcpy(image.data() + at + kBatchHeaderBytes, records.data(), records.size());
    seal_batch(*batch, std::span(image).subspan(at, bytes));
    at += bytes;
  }
  ASSERT_TRUE(changed);
  Rig after = small_rig();
  after.must_open(image);
  EXPECT_EQ(after.read(0, 0, 1).wrong, 1U);
}

}  // namespace
}  // namespace fulcrum::test
