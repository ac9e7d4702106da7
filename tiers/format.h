// The bytes of a store: superblock, extent header, journal batches and their records. docs/formats.md has
// the tables.
//
// Pure functions on spans. Every decoder checks every bound and every field that it can, and reports what it
// does not understand: kinds corrupt (checksum, structure), mismatch (valid, but of another format), and
// not_found (nothing but zeros: never written).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "fulcrum/key.h"
#include "fulcrum/result.h"
#include "tiers/file_layout.h"

namespace fulcrum {

inline constexpr std::size_t kPage = 4096;             ///< unit of all places
inline constexpr std::size_t kExtentBlocks = 128;      ///< most blocks of an extent: its header is one page
inline constexpr std::size_t kBatchBytes = 256 << 10;  ///< largest batch of the journal
inline constexpr std::uint16_t kFormatMajor = 1;       ///< a reader refuses others
inline constexpr std::uint16_t kFormatMinor = 0;       ///< a reader takes any
inline constexpr std::size_t kNameBytes = 3072;        ///< most text of a namespace
/// Worth of a block that is gone: the logarithm of nothing.
inline constexpr float kGone = -std::numeric_limits<float>::infinity();

struct Superblock {
  std::uint16_t minor = kFormatMinor;
  std::uint64_t compatible = 0;    ///< features that a reader may ignore
  std::uint64_t incompatible = 0;  ///< features that a reader must know
  std::uint64_t sequence = 0;      ///< the higher one of two counts
  std::uint64_t fingerprint = 0;   ///< of the namespace, salt included
  std::string model;
  std::string layout_name;
  std::string dtype;
  std::uint32_t ranks = 1;
  std::uint64_t salt_hash = 0;  ///< the salt itself is not written down
  FileLayout layout;
  bool clean = false;                    ///< the last owner closed the store
  std::uint8_t active_half = 0;          ///< of the journal
  std::uint64_t journal_generation = 0;  ///< seed of the checksums in that half
  std::uint64_t owner = 0;
  std::string writer;  ///< who holds it, for people

  bool operator==(const Superblock&) const = default;
};
[[nodiscard]] Superblock superblock_for(const Namespace& name, const FileLayout& layout);
/// What makes `found` unusable for who expects `wanted`, or an empty text.
[[nodiscard]] std::string difference(const Superblock& found, const Superblock& wanted);
/// `page` has kPage bytes. The texts of a namespace must not exceed kNameBytes; the writer is cut.
void encode_superblock(const Superblock& superblock, std::span<std::byte> page);
[[nodiscard]] Result<Superblock> decode_superblock(std::span<const std::byte> page);

struct StoredBlock {
  BlockKey key;
  std::uint64_t sum = 0;  ///< row_sum() of its row
  float worth = 0;        ///< kGone where it cannot be read any more
  bool operator==(const StoredBlock&) const = default;
  [[nodiscard]] bool live() const { return worth > kGone; }
};

/// A run of consecutive blocks of one chain: a header page, then the rows, each on its own pages.
struct ExtentFacts {
  std::uint32_t segment = 0;
  std::uint32_t generation = 0;  ///< of the segment: how often it has been used
  std::uint32_t page = 0;        ///< of the header, within the segment
  std::uint32_t first = 0;       ///< position of the first block in its chain
  BlockKey parent;               ///< key of the block before it
  std::uint64_t used_ms = 0;     ///< when it was written or last used, in the store's time
  std::vector<StoredBlock> blocks;
  bool operator==(const ExtentFacts&) const = default;
};
void encode_extent_header(const ExtentFacts& facts, std::uint64_t fingerprint, std::span<std::byte> page);
[[nodiscard]] Result<ExtentFacts> decode_extent_header(std::span<const std::byte> page,
                                                       std::uint64_t fingerprint);
/// Whether it is a whole extent header, of whatever namespace.
[[nodiscard]] bool is_extent_header(std::span<const std::byte> page);
/// Checksum of a row that is the block `key`, `page` of `segment` in its life `generation`.
[[nodiscard]] std::uint64_t row_sum(std::span<const std::byte> row, const BlockKey& key,
                                    std::uint32_t segment, std::uint32_t page, std::uint32_t generation);
/// Page of the i-th row of an extent.
[[nodiscard]] inline std::uint32_t row_page(std::uint32_t extent_page, std::size_t i, std::int64_t stride) {
  return extent_page + 1 + static_cast<std::uint32_t>(i * (static_cast<std::size_t>(stride) / kPage));
}

/// A segment's life begins anew: what earlier generations held there is gone.
struct SegmentRecord {
  std::uint32_t segment = 0;
  std::uint32_t generation = 0;
  bool operator==(const SegmentRecord&) const = default;
};
/// Worth of the blocks of one extent now, front to back.
struct WorthRecord {
  std::uint32_t segment = 0;
  std::uint32_t generation = 0;
  std::uint32_t page = 0;
  std::uint64_t used_ms = 0;
  std::vector<float> worth;
  bool operator==(const WorthRecord&) const = default;
};
/// Bytes written since the store began, and of late: what survives a restart of a budget.
struct WriteHistory {
  Bytes ever{};
  Bytes today{};         ///< on that day
  std::int64_t day = 0;  ///< days since 1970, UTC
  bool operator==(const WriteHistory&) const = default;
};
using Record = std::variant<ExtentFacts, SegmentRecord, WorthRecord, WriteHistory>;
/// Appends the encoded record; it is smaller than kBatchBytes less a batch's header.
void encode_record(const Record& record, std::vector<std::byte>& out);

/// One append to the journal.
struct BatchHeader {
  std::uint32_t bytes = 0;  ///< header and records; the rest of its last page is zeros
  std::uint32_t records = 0;
  std::uint64_t generation = 0;  ///< of the journal
  std::uint64_t sequence = 0;    ///< of the batch, from 0 in each generation
  std::uint64_t time_ms = 0;     ///< the store's time when it was written
  bool operator==(const BatchHeader&) const = default;
};
inline constexpr std::size_t kBatchHeaderBytes = 48;
/// Fills in the header of a batch whose records lie behind it already, and zeros the end of its last page.
/// `batch` is whole pages.
void seal_batch(const BatchHeader& header, std::span<std::byte> batch);
/// The header of the batch at the start of `bytes`, checksum and all.
[[nodiscard]] Result<BatchHeader> decode_batch(std::span<const std::byte> bytes, std::uint64_t generation);
/// The records of a batch that decode_batch() has found good. Records of unknown types are left out.
[[nodiscard]] Result<std::vector<Record>> decode_records(std::span<const std::byte> bytes,
                                                         const BatchHeader& header);

/// Most journal bytes of an extent of n blocks.
[[nodiscard]] constexpr std::int64_t extent_record_bytes(std::int64_t n) {
  return 56 + 28 * n;
}
inline constexpr std::int64_t kSegmentRecordBytes = 16;

}  // namespace fulcrum
