// A journal whose checksums are right and whose records no store would write: what recovery makes of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tiers/file_tier_rig.h"
#include "tiers/recovery.h"

namespace fulcrum::test {
namespace {

constexpr BlockKey kParent{1, 2};
constexpr std::uint32_t kLife = 3;

FileLayout layout_of(Bytes row_bytes) {
  return *FileLayout::for_capacity(Bytes(1 << 20), row_bytes, Medium::flash);
}

ExtentFacts extent(std::uint32_t page, std::uint64_t chain, std::uint32_t blocks) {
  ExtentFacts facts{0, kLife, page, 0, kParent, 0, {}};
  for (std::uint32_t i = 0; i < blocks; ++i) facts.blocks.push_back({key_of(chain, i), i, 1});
  return facts;
}

/// The chains of which blocks are held, after these extents in this order.
std::vector<std::uint64_t> held_after(const FileLayout& layout, const std::vector<ExtentFacts>& extents,
                                      std::uint64_t contradicted) {
  StoreState state(layout);
  for (const ExtentFacts& facts : extents) {
    Record record = facts;
    take_up(record, layout, state);
  }
  EXPECT_EQ(state.contradicted, contradicted);
  std::vector<std::uint64_t> held;
  std::uint64_t blocks = 0;
  for (std::uint64_t chain = 1; chain < 9; ++chain) {
    std::uint32_t here = 0;
    for (std::uint32_t i = 0; i < 8; ++i) here += state.index.find(key_of(chain, i)) ? 1U : 0U;
    if (here > 0) held.push_back(chain);
    blocks += here;
  }
  EXPECT_EQ(blocks, state.index.blocks());
  EXPECT_EQ(blocks, state.index.live_in(0));
  return held;
}

using Chains = std::vector<std::uint64_t>;

TEST(ForgedJournal, ExtentsSideBySideAreAllKept) {
  const FileLayout layout = layout_of(Bytes(4096));
  EXPECT_EQ(held_after(layout, {extent(0, 1, 3), extent(4, 2, 2), extent(7, 3, 1)}, 0), (Chains{1, 2, 3}));
  EXPECT_EQ(held_after(layout, {extent(4, 2, 2), extent(7, 3, 1), extent(0, 1, 3)}, 0), (Chains{1, 2, 3}));
}

TEST(ForgedJournal, OfExtentsThatShareAPageTheLaterOneCounts) {
  const FileLayout layout = layout_of(Bytes(4096));
  EXPECT_EQ(held_after(layout, {extent(0, 1, 3), extent(3, 2, 3)}, 1), Chains{2}) << "its last row";
  EXPECT_EQ(held_after(layout, {extent(3, 1, 3), extent(0, 2, 3)}, 1), Chains{2}) << "its header";
  EXPECT_EQ(held_after(layout, {extent(3, 1, 3), extent(3, 2, 3)}, 1), Chains{2}) << "the same place";
  EXPECT_EQ(held_after(layout, {extent(0, 1, 7), extent(3, 2, 1)}, 1), Chains{2}) << "inside";
  EXPECT_EQ(held_after(layout, {extent(3, 1, 1), extent(0, 2, 7)}, 1), Chains{2}) << "around";
  EXPECT_EQ(held_after(layout,
                       {extent(0, 1, 1), extent(2, 2, 1), extent(4, 3, 1), extent(6, 4, 1), extent(8, 5, 1),
                        extent(3, 6, 4)},
                       3),
            (Chains{1, 5, 6}))
      << "several of many";
}

TEST(ForgedJournal, AnExtentThatACheckpointHasAlreadyIsNoContradiction) {
  const FileLayout layout = layout_of(Bytes(4096));
  StoreState state(layout);
  ExtentFacts later = extent(0, 1, 3);
  later.blocks[1].worth = kGone;  // erased since, as the checkpoint says
  for (const ExtentFacts& facts : {later, extent(0, 1, 3)}) {
    Record record = facts;
    take_up(record, layout, state);
  }
  EXPECT_EQ(state.contradicted, 0U);
  EXPECT_EQ(state.index.blocks(), 2U);
  EXPECT_FALSE(state.index.find(key_of(1, 1)));
}

TEST(ForgedJournal, WhichPagesAreSharedDependsOnTheSizeOfRows) {
  EXPECT_EQ(held_after(layout_of(Bytes(4096)), {extent(0, 1, 2), extent(4, 2, 1)}, 0), (Chains{1, 2}));
  EXPECT_EQ(held_after(layout_of(Bytes(8192)), {extent(0, 1, 2), extent(4, 2, 1)}, 1), Chains{2});
}

TEST(ForgedJournal, ABlockThatMovesOverItsOwnOldPlaceIsHeldOnce) {
  EXPECT_EQ(held_after(layout_of(Bytes(4096)), {extent(0, 1, 3), extent(2, 1, 3)}, 1), Chains{1});
}

TEST(ForgedJournalDeathTest, NoPartOfARunningStoreMayAddWhatOverlaps) {
  const FileLayout layout = layout_of(Bytes(4096));
  ExtentIndex index(layout.segments, layout.stride());
  index.add(extent(0, 1, 3));
  EXPECT_DEATH(index.add(extent(3, 2, 3)), "two extents on one page");
}

/// Appends a batch to the journal that the image was left with.
void append(Image& image, const Superblock& superblock, const Record& record) {
  auto at = static_cast<std::size_t>(superblock.layout.journal_offset(superblock.active_half));
  std::uint64_t sequence = 0;
  for (;; ++sequence) {
    const auto batch = decode_batch(std::span(image).subspan(at), superblock.journal_generation);
    if (batch.has_error()) break;
    at += (batch->bytes + kPage - 1) / kPage * kPage;
  }
  std::vector<std::byte> bytes(kBatchHeaderBytes);
  encode_record(record, bytes);
  const auto used = static_cast<std::uint32_t>(bytes.size());
  bytes.resize((bytes.size() + kPage - 1) / kPage * kPage);
  seal_batch({used, 1, superblock.journal_generation, sequence, 0}, bytes);
  std::ranges::copy(bytes, image.begin() + static_cast<std::ptrdiff_t>(at));
}

TEST(ForgedJournal, AStoreStartsWithoutWhatWasContradictedAndSaysSo) {
  Rig rig;
  ASSERT_NO_FATAL_FAILURE(rig.must_open());
  ASSERT_TRUE(rig.write(1, 0, 4).good());
  ASSERT_TRUE(rig.write(2, 0, 4).good());
  const Superblock superblock = rig.tier->superblock();
  Image image = rig.device->image();
  // Life and place are those of the first extent of a new store: its segment 0 begins with life 1.
  append(image, superblock, ExtentFacts{0, 1, 1, 0, kParent, 0, {{key_of(9, 0), 5, 1}}});
  ASSERT_NO_FATAL_FAILURE(rig.must_open(image));
  EXPECT_EQ(rig.tier->recovery().dropped_records, 1U);
  EXPECT_EQ(rig.readable(1, 0, 4), 0U) << "the record says that its rows were written over";
  EXPECT_EQ(rig.readable(2, 0, 4), 4U);
  EXPECT_EQ(rig.readable(9, 0, 1), 0U) << "no row fits its checksum";
  ASSERT_TRUE(rig.write(3, 0, 4).good()) << "and goes on";
  EXPECT_EQ(rig.readable(3, 0, 4), 4U);
}

}  // namespace
}  // namespace fulcrum::test
