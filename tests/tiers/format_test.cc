// The bytes of a store: what is encoded is decoded, every flipped bit is noticed, and the bytes of this
// version stay what they are.
#include "tiers/format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "tiers/format_page.h"

namespace fulcrum {
namespace {

using Bits = std::vector<std::byte>;

BlockKey random_key(Random& random) {
  return {random.next(), random.next()};
}

std::vector<StoredBlock> random_blocks(Random& random, std::size_t count) {
  std::vector<StoredBlock> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const float worth = random.below(5) == 0 ? kGone : static_cast<float>(random.below(2000)) / 16 - 60;
    blocks.push_back({random_key(random), random.next(), worth});
  }
  return blocks;
}

ExtentFacts random_extent(Random& random, std::size_t blocks) {
  const auto small = [&] { return static_cast<std::uint32_t>(random.below(1 << 20)); };
  return {
      small(), small(), small(), small(), random_key(random), random.next(), random_blocks(random, blocks)};
}

Superblock random_superblock(Random& random) {
  const auto layout =
      FileLayout::for_capacity(Bytes(static_cast<std::int64_t>(random.below(1 << 30)) + (64 << 20)),
                               Bytes(static_cast<std::int64_t>(random.below(1 << 18)) + 1), Medium::flash);
  Superblock superblock =
      superblock_for({"model " + std::to_string(random.next()), "paged", "fp8", 4, "salt"}, *layout);
  superblock.sequence = random.next();
  superblock.clean = random.below(2) == 1;
  superblock.active_half = static_cast<std::uint8_t>(random.below(2));
  superblock.journal_generation = random.next();
  superblock.owner = random.next();
  superblock.writer = "pid 7 on host b";
  return superblock;
}

Bits page_of(const Superblock& superblock) {
  Bits page(kPage);
  encode_superblock(superblock, page);
  return page;
}

std::vector<Record> random_records(Random& random) {
  WorthRecord worth{3, 9, 700, random.next(), {}};
  for (std::size_t i = 0; i < random.below(kExtentBlocks); ++i)
    worth.worth.push_back(static_cast<float>(random.below(2000)) / 16 - 60);
  return {random_extent(random, 1 + random.below(kExtentBlocks)), SegmentRecord{4, 77}, worth,
          WriteHistory{Bytes(1 << 30), Bytes(1 << 20), 20000}};
}

Bits batch_of(const std::vector<Record>& records, std::uint64_t generation, std::uint64_t sequence) {
  Bits bytes(kBatchHeaderBytes);
  for (const Record& record : records) encode_record(record, bytes);
  const auto used = static_cast<std::uint32_t>(bytes.size());
  bytes.resize((bytes.size() + kPage - 1) / kPage * kPage);
  seal_batch({used, static_cast<std::uint32_t>(records.size()), generation, sequence, 1234}, bytes);
  return bytes;
}

TEST(Format, DecodesWhatItHasEncoded) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Superblock superblock = random_superblock(random);
    const auto decoded = decode_superblock(page_of(superblock));
    ASSERT_FALSE(decoded.has_error()) << decoded.error().message();
    EXPECT_EQ(*decoded, superblock);

    const ExtentFacts extent = random_extent(random, 1 + random.below(kExtentBlocks));
    Bits page(kPage);
    encode_extent_header(extent, 42, page);
    const auto facts = decode_extent_header(page, 42);
    ASSERT_FALSE(facts.has_error()) << facts.error().message();
    EXPECT_EQ(*facts, extent);
    EXPECT_EQ(decode_extent_header(page, 43).error().kind, ErrorKind::mismatch);

    const std::vector<Record> records = random_records(random);
    const Bits batch = batch_of(records, seed + 5, seed);
    const auto header = decode_batch(batch, seed + 5);
    ASSERT_FALSE(header.has_error()) << header.error().message();
    EXPECT_EQ(header->sequence, seed);
    EXPECT_EQ(*decode_records(batch, *header), records);
    EXPECT_TRUE(decode_batch(batch, seed + 6).has_error()) << "of another generation";
  }
}

TEST(Format, NoticesEveryFlippedBit) {
  Random random(5);
  const Bits superblock = page_of(random_superblock(random));
  Bits extent(kPage);
  encode_extent_header(random_extent(random, 100), 42, extent);
  const Bits batch = batch_of(random_records(random), 9, 3);
  for (std::size_t bit = 0; bit < kPage * 8; ++bit) {
    const auto flipped = [bit](Bits bytes) {
      bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      return bytes;
    };
    ASSERT_TRUE(decode_superblock(flipped(superblock)).has_error()) << bit;
    ASSERT_TRUE(decode_extent_header(flipped(extent), 42).has_error()) << bit;
    ASSERT_TRUE(decode_batch(flipped(batch), 9).has_error()) << bit;
  }
}

TEST(Format, TakesAnyBytesWithoutHarm) {
  // Valid checksums around nonsense: the decoders must hold their bounds by themselves.
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Bits bytes(kPage * (1 + random.below(3)));
    random.fill(bytes);
    static_cast<void>(decode_superblock(bytes));
    static_cast<void>(decode_extent_header(bytes, 42));
    static_cast<void>(decode_batch(bytes, 9));
    const std::uint64_t claimed = random.below(bytes.size()) + 1;
    if (claimed < kBatchHeaderBytes) continue;
    const std::span<std::byte> batch = std::span(bytes).first((claimed + kPage - 1) / kPage * kPage);
    seal_batch({static_cast<std::uint32_t>(claimed), static_cast<std::uint32_t>(random.below(100)), 9, 0, 0},
               batch);
    const auto header = decode_batch(bytes, 9);
    ASSERT_FALSE(header.has_error());
    static_cast<void>(decode_records(bytes, *header));
  }
  Random random(1);
  const Bits batch = batch_of(random_records(random), 9, 0);
  const auto header = decode_batch(batch, 9);
  for (std::size_t size = 0; size < batch.size(); size += 7) {
    const std::span<const std::byte> cut = std::span(batch).first(size);
    static_cast<void>(decode_batch(cut, 9));
    static_cast<void>(decode_records(cut, *header));
    static_cast<void>(decode_superblock(cut));
    static_cast<void>(decode_extent_header(cut, 42));
  }
}

TEST(Format, RefusesANewerMajorVersionAndUnknownFeaturesAndTakesANewerMinor) {
  Random random(8);
  Superblock superblock = random_superblock(random);
  superblock.minor = kFormatMinor + 3;
  superblock.compatible = 0xff;
  EXPECT_FALSE(decode_superblock(page_of(superblock)).has_error());
  superblock.incompatible = 4;
  const auto features = decode_superblock(page_of(superblock));
  EXPECT_EQ(features.error().kind, ErrorKind::mismatch);
  EXPECT_FALSE(features.error().next_step.empty());
  superblock.incompatible = 0;
  Bits newer = page_of(superblock);
  newer[16] = std::byte{kFormatMajor + 1};
  EXPECT_EQ(decode_superblock(newer).error().kind, ErrorKind::corrupt) << "not by chance";
  seal_page(newer);
  const auto version = decode_superblock(newer);
  EXPECT_EQ(version.error().kind, ErrorKind::mismatch);
  EXPECT_NE(version.error().detail.find("version 2"), std::string::npos);
}

TEST(Format, GivesEveryPlaceAndLifeItsOwnChecksum) {
  Random random(3);
  Bits row(4096);
  random.fill(row);
  const BlockKey key = random_key(random);
  const std::uint64_t sum = row_sum(row, key, 1, 2, 3);
  EXPECT_EQ(row_sum(row, key, 1, 2, 3), sum);
  EXPECT_NE(row_sum(row, random_key(random), 1, 2, 3), sum);
  EXPECT_NE(row_sum(row, key, 2, 2, 3), sum);
  EXPECT_NE(row_sum(row, key, 1, 3, 3), sum);
  EXPECT_NE(row_sum(row, key, 1, 2, 4), sum);
}

TEST(FileLayout, NeverTakesMoreThanItsCapacityAndSaysTheLeastThatWorks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Bytes row(static_cast<std::int64_t>(random.below(4 << 20)) + 1);
    const Bytes capacity(
        static_cast<std::int64_t>(random.below(std::uint64_t{1} << (25 + random.below(18)))));
    const auto layout = FileLayout::for_capacity(capacity, row, seed % 2 == 0 ? Medium::flash : Medium::hdd);
    if (layout.has_error()) {
      EXPECT_EQ(layout.error().kind, ErrorKind::bad_input);
      const std::string& next = layout.error().next_step;
      const Bytes least(std::stoll(next.substr(next.find("least ") + 6)));
      EXPECT_GT(least, capacity);
      EXPECT_FALSE(FileLayout::for_capacity(least, row, Medium::flash).has_error());
      continue;
    }
    EXPECT_LE(layout->total(), capacity);
    EXPECT_FALSE(layout->check().has_error());
    EXPECT_GT(layout->capacity(), Bytes(0));
    if (capacity > Bytes(std::int64_t{1} << 34) && row < Bytes(1 << 20) && row > Bytes(64 << 10)) {
      EXPECT_GT(layout->capacity() / layout->total(), 0.75) << "most of the space is for rows";
    }
  }
}

/// The bytes of this version, made from fixed values. A difference is a new format: count its version up.
TEST(Format, WritesTheBytesOfItsGoldenFiles) {
  Random random(20240601);
  Superblock superblock = superblock_for({"model-7b", "paged-16", "bf16", 2, "tenant"}, {});
  superblock.layout.row_bytes = Bytes(2 << 20);
  superblock.layout.segment_bytes = Bytes(64 << 20);
  superblock.layout.segments = 15;
  superblock.layout.meta_bytes = Bytes(335872);
  superblock.sequence = 12;
  superblock.active_half = 1;
  superblock.journal_generation = 7;
  superblock.owner = 0x1122334455667788;
  superblock.writer = "pid 12 on host a";
  Bits header(kPage);
  encode_extent_header(random_extent(random, 17), superblock.fingerprint, header);
  const std::vector<std::pair<std::string, Bits>> golden{
      {"superblock.bin", page_of(superblock)},
      {"extent.bin", header},
      {"batch.bin", batch_of(random_records(random), 7, 3)}};
  for (const auto& [name, bytes] : golden) {
    const std::filesystem::path path = std::filesystem::path(FULCRUM_SOURCE_DIR) / "tests/golden" / name;
    std::ifstream in(path, std::ios::binary);
    if (!in) {
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      ADD_FAILURE() << path << " was not there; it has been written, look at it and keep it";
      continue;
    }
    const std::string text(std::istreambuf_iterator<char>(in), {});
    ASSERT_EQ(text.size(), bytes.size()) << name;
    EXPECT_EQ(std::memcmp(text.data(), bytes.data(), bytes.size()), 0) << name;
  }
}

}  // namespace
}  // namespace fulcrum
