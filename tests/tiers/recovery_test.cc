// Starting again: fast in a full store, and right when the journal is damaged.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <cstring>

#include "tests/tiers/file_tier_rig.h"
#include "tiers/store_reader.h"

namespace fulcrum::test {
namespace {

/// Keeps the head of a large device in memory and forgets the rest: enough for the journal.
class HeadDevice final : public Device {
 public:
  HeadDevice(const FileLayout& layout, std::shared_ptr<std::vector<std::byte>> head)
      : layout_(layout), head_(std::move(head)) {
    head_->resize(static_cast<std::size_t>(layout.meta_bytes.value()));
  }
  [[nodiscard]] Geometry geometry() const override {
    return {layout_.total(), layout_.meta_bytes, layout_.segment_bytes, 4096, 256};
  }
  [[nodiscard]] IoMode mode() const override { return {}; }
  [[nodiscard]] DeviceIdentity identity() const override { return {"(head)", "", "", "", "", ""}; }

 private:
  Result<void> do_submit(const IoRequest& request) override {
    const bool head = request.offset < layout_.meta_bytes.value();
    std::byte* bytes = head_->data() + (head ? request.offset : 0);
    if (head && request.kind == IoKind::read)
      std::memcpy(request.buffer.data(), bytes, request.buffer.size());
    if (head && request.kind == IoKind::write)
      std::memcpy(bytes, request.buffer.data(), request.buffer.size());
    done_.push_back({request.tag, request.kind, static_cast<std::size_t>(size_of(request)), Seconds(0), {}});
    return {};
  }
  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds /*wait*/) override {
    const std::size_t count = std::min(out.size(), done_.size());
    std::move(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count), out.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  FileLayout layout_;
  std::shared_ptr<std::vector<std::byte>> head_;
  std::vector<IoCompletion> done_;
};

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

struct FullStore {
  static constexpr std::uint64_t kBlocks =
      500'000;  // 1 TB of 2 MiB blocks; how large a row is does not matter
  FileTierOptions options;
  std::shared_ptr<std::vector<std::byte>> head = std::make_shared<std::vector<std::byte>>();
  SteadyClock clock;

  FullStore() {
    options.name = {"model-7b", "paged-16", "bf16", 1, ""};
    options.layout = *FileLayout::for_capacity(Bytes(std::int64_t{6} << 30), Bytes(4096), Medium::flash);
    options.linger = Seconds(0);
    options.commit = Bytes(64 << 20);
    options.budget = Bytes(64 << 20);
  }
  std::unique_ptr<FileTier> open() {
    auto tier = FileTier::open(std::make_unique<HeadDevice>(options.layout, head), options, clock);
    EXPECT_FALSE(tier.has_error()) << tier.error().message();
    return std::move(*tier);
  }
  void fill(FileTier& tier, std::uint32_t run) {
    const Rows row(1, 4096);
    std::array<TierEvent, 64> events;
    for (std::uint64_t chain = 0; chain < kBlocks / run; ++chain) {
      TierWrite job{chain, BlockKey::root(options.name), 0, keys_of(chain, 0, run), {}, 0};
      job.rows.assign(run, row.at(0));
      ASSERT_FALSE(tier.write(std::move(job)).has_error());
      while (tier.in_flight() > 500) tier.poll(events, Seconds(1));
    }
    while (tier.in_flight() > 0) tier.poll(events, Seconds(1));
  }
};

TEST(Recovery, OfHalfAMillionBlocksTakesLessThanTwoSeconds) {
  FullStore store;
  {
    const auto tier = store.open();
    ASSERT_NO_FATAL_FAILURE(store.fill(*tier, 16));
    EXPECT_EQ(tier->status().blocks, store.kBlocks);
    ASSERT_FALSE(tier->close(Seconds(30)).has_error());
  }
  const auto before = mallinfo2().uordblks + mallinfo2().hblkhd;
  const double start = processor_seconds();
  const auto tier = store.open();
  // Other tests may share the machine: what counts is the work.
  const double work = processor_seconds() - start;
  const auto after = mallinfo2().uordblks + mallinfo2().hblkhd;
  const RecoveryReport& report = tier->recovery();
  EXPECT_EQ(report.blocks, store.kBlocks);
  EXPECT_TRUE(report.clean);
  EXPECT_LT(work, 2);
  std::printf("%lu blocks again after %.3f s, %.3f s of them work, %.0f bytes of memory a block\n",
              report.blocks, report.elapsed.value(), work,
              static_cast<double>(after - before) / static_cast<double>(report.blocks));
}

TEST(Recovery, UsesTheOlderHalfWhereTheNewerOneIsDamagedAtItsBeginning) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(1, 0, 4).good());
  const auto half =
      static_cast<std::size_t>(rig.options.layout.journal_offset(rig.tier->superblock().active_half));
  ASSERT_NO_FATAL_FAILURE(rig.must_open(rig.device->image()));  // a checkpoint in the other half
  const auto newer =
      static_cast<std::size_t>(rig.options.layout.journal_offset(rig.tier->superblock().active_half));
  ASSERT_NE(newer, half);
  Image image = rig.device->image();
  image[newer + 20] ^= std::byte{1};
  ASSERT_NO_FATAL_FAILURE(rig.must_open(image));
  EXPECT_GT(rig.tier->recovery().dropped_records, 0U);
  EXPECT_EQ(rig.readable(1, 0, 4), 4U);
}

TEST(Recovery, SurvivesAFlipOfAnyByteOfSuperblocksAndJournal) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(1, 0, 3, 1).good());
  ASSERT_TRUE(rig.write(2, 0, 3, 2).good());
  rig.tier->touch(keys_of(1, 0, 1), 5);
  rig.must_close();
  const Image image = rig.device->image();
  std::uint32_t hits = 0;
  std::uint32_t starts = 0;
  Random random(9);
  const auto half = static_cast<std::size_t>(rig.options.layout.journal_offset(0));
  for (int i = 0; i < 400; ++i) {
    Image damaged = image;
    const std::size_t at = i % 2 == 0 ? random.below(2 * kPage) : half + random.below(4 * kPage);
    damaged[at] ^= static_cast<std::byte>(1U << random.below(8));
    Rig after;
    const Result<void> opened = after.open(damaged);
    ASSERT_FALSE(opened.has_error()) << opened.error().message();
    ++starts;
    hits += after.readable(1, 0, 3) + after.readable(2, 0, 3);
  }
  EXPECT_GT(hits, starts * 3) << "most flips cost little";
}

TEST(Recovery, ComesBackFromAnyPrefixOfTheJournal) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  for (std::uint64_t chain = 0; chain < 10; ++chain) ASSERT_TRUE(rig.write(chain, 0, 3).good());
  const Image image = rig.device->image();
  const auto half = static_cast<std::ptrdiff_t>(rig.options.layout.journal_offset(0));
  std::uint32_t last = 0;
  for (std::ptrdiff_t pages = 1; pages < 14; ++pages) {
    Image cut = image;
    std::fill(cut.begin() + half + pages * static_cast<std::ptrdiff_t>(kPage),
              cut.begin() + half + static_cast<std::ptrdiff_t>(rig.options.layout.journal_bytes()),
              std::byte{0});
    Rig after;
    ASSERT_NO_FATAL_FAILURE(after.must_open(cut));
    std::uint32_t hits = 0;
    for (std::uint64_t chain = 0; chain < 10; ++chain) hits += after.readable(chain, 0, 3);
    EXPECT_GE(hits, last);
    last = hits;
  }
  EXPECT_EQ(last, 30U);
}

TEST(Recovery, NeverHoldsMoreThanItsCapacityWhenErasuresWereNotWrittenDown) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  const auto rows = static_cast<std::uint32_t>(rig.tier->status().capacity.value() / 4096);
  for (std::uint32_t i = 0; i + 6 <= rows; i += 6) ASSERT_TRUE(rig.write(1, i, 6, 1).good());
  rig.tier->erase(keys_of(1, 0, rows / 2));
  for (std::uint32_t i = 0; i + 6 <= rows / 2; i += 6) ASSERT_TRUE(rig.write(2, i, 6, 2).good());
  ASSERT_NO_FATAL_FAILURE(rig.must_open(rig.device->image()));
  EXPECT_LE(rig.tier->status().used, rig.tier->status().capacity);
  EXPECT_EQ(rig.readable(2, 0, rows / 2 / 6 * 6), rows / 2 / 6 * 6) << "the worthier stay";
}

TEST(Recovery, IsRefusedWhereBlocksAreLeftAndNoSuperblock) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  const Image never_used = rig.device->image();
  ASSERT_TRUE(rig.write(1, 0, 3).good());
  const Image used = rig.device->image();
  const auto without_head = [&](Image image) {
    std::fill_n(image.begin(), rig.options.layout.meta_bytes.value(), std::byte{0});
    return image;
  };
  const Result<void> refused = rig.open(without_head(used));
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().kind, ErrorKind::corrupt);
  EXPECT_NE(refused.error().message().find("segment 0 holds blocks"), std::string::npos)
      << refused.error().message();
  EXPECT_NE(refused.error().next_step.find("foreign: replace"), std::string::npos);
  ASSERT_NO_FATAL_FAILURE(rig.must_open(without_head(never_used)));
  EXPECT_TRUE(rig.tier->recovery().fresh);
}

TEST(Recovery, TellsWhatACrashLeavesFromDamage) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(1, 0, 3).good());
  const auto half =
      static_cast<std::ptrdiff_t>(rig.options.layout.journal_offset(rig.tier->superblock().active_half));
  const Image open = rig.device->image();
  rig.must_close();
  Image closed = rig.device->image();
  ASSERT_NO_FATAL_FAILURE(rig.must_open(open));
  EXPECT_FALSE(rig.tier->recovery().damaged);
  std::fill_n(closed.begin() + half, rig.options.layout.journal_bytes(), std::byte{0});
  ASSERT_NO_FATAL_FAILURE(rig.must_open(closed));
  EXPECT_TRUE(rig.tier->recovery().damaged);
}

TEST(Recovery, IsToldThatTheStoreBelongsToWhoOpenedItLast) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  rig.options.owner = 99;
  rig.options.writer = "pid 2 on host other";
  ASSERT_NO_FATAL_FAILURE(rig.must_open(rig.device->image()));
  StoreReader reader(*rig.device, rig.clock, Seconds(1));
  EXPECT_EQ(reader.superblocks()->front().superblock.owner, 99U);
  EXPECT_EQ(reader.superblocks()->front().superblock.writer, "pid 2 on host other");
}

}  // namespace
}  // namespace fulcrum::test
