#include "tiers/file_layout.h"

#include <algorithm>
#include <string>

#include "base/document.h"
#include "base/errors.h"
#include "tiers/format.h"

namespace fulcrum {
namespace {

constexpr auto kPageBytes = static_cast<std::int64_t>(kPage);
constexpr std::int64_t kHeadPages = 4;  // superblocks, probe page, one spare
constexpr std::int64_t kRowsLeast = 2;  // of a segment
constexpr std::uint32_t kSegmentsLeast = 4;
constexpr std::int64_t kSegmentsWished = 16;
constexpr std::int64_t kSegmentsMost = 999'999;  // their names have six digits

std::int64_t up(std::int64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

/// A row in an extent of its own: the worst case for space and for the journal.
std::int64_t lone_row(std::int64_t stride) {
  return stride + kPageBytes;
}

/// Two halves, each for a checkpoint of segments full of extents of one row, and half as much again.
std::int64_t head_bytes(std::int64_t segment_bytes, std::int64_t segments, std::int64_t stride) {
  const std::int64_t rows = segments * (segment_bytes / lone_row(stride));
  const std::int64_t checkpoint =
      rows * extent_record_bytes(1) + (segments + 4) * kSegmentRecordBytes + 16 * kPageBytes;
  return kHeadPages * kPageBytes + 2 * up(checkpoint + checkpoint / 2);
}

std::int64_t all_bytes(std::int64_t segment_bytes, std::int64_t segments, std::int64_t stride) {
  return head_bytes(segment_bytes, segments, stride) + segments * segment_bytes;
}

Error too_many(Bytes capacity, Bytes segment_bytes) {
  return bad_input("capacity",
                   format(capacity) + " is more than " + std::to_string(kSegmentsMost) + " segments of " +
                       format(segment_bytes),
                   "set 'capacity' of the tier to at most " + format(segment_bytes * kSegmentsMost) +
                       " for each of its paths");
}

}  // namespace

Result<FileLayout> FileLayout::for_capacity(Bytes capacity, Bytes row_bytes, Medium medium) {
  if (row_bytes <= Bytes(0) || row_bytes > Bytes(std::int64_t{1} << 32)) {
    return bad_input("row size", std::to_string(row_bytes.value()) + " bytes", "give the bytes of a block");
  }
  const std::int64_t stride = up(row_bytes.value());
  const std::int64_t smallest = kRowsLeast * lone_row(stride);
  if (const std::int64_t least = all_bytes(smallest, kSegmentsLeast, stride); capacity.value() < least) {
    return bad_input(
        "capacity",
        std::to_string(capacity.value()) + " bytes are too few for rows of " +
            std::to_string(row_bytes.value()) + " bytes",
        "set 'capacity' of the tier to at least " + std::to_string(least) + " bytes for each of its paths");
  }
  const std::int64_t wished = std::int64_t{medium == Medium::hdd ? 4 : 1} << 30;
  const std::int64_t share = capacity.value() / kSegmentsWished;
  // Small segments hold whole rows only: of a few rows, a part of one is much.
  const std::int64_t whole = share / lone_row(stride) * lone_row(stride);
  const std::int64_t segment = share >= wished ? wished : std::max(whole, smallest);
  std::int64_t segments = capacity.value() / segment;
  if (segments > kSegmentsMost) return too_many(capacity, Bytes(segment));
  while (all_bytes(segment, segments, stride) > capacity.value()) --segments;
  FileLayout layout;
  layout.row_bytes = row_bytes;
  layout.segment_bytes = Bytes(segment);
  layout.segments = static_cast<std::uint32_t>(segments);
  layout.meta_bytes = Bytes(head_bytes(segment, segments, stride));
  return layout;
}

Result<FileLayout> FileLayout::resized(Bytes capacity) const {
  FileLayout layout = *this;
  const auto fits = [&](std::int64_t count) {
    layout.meta_bytes = std::max(meta_bytes, Bytes(head_bytes(segment_bytes.value(), count, stride())));
    layout.segments = static_cast<std::uint32_t>(count);
    return layout.total() <= capacity;
  };
  std::int64_t count = capacity.value() / segment_bytes.value();
  if (count > kSegmentsMost) return too_many(capacity, segment_bytes);
  while (count > 0 && !fits(count)) --count;
  if (count >= kSegmentsLeast) return layout;
  fits(kSegmentsLeast);
  return bad_input(
      "capacity",
      format(capacity) + " are fewer than " + std::to_string(kSegmentsLeast) + " segments of " +
          format(segment_bytes) + ", which the store there has",
      "set 'capacity' of the tier to at least " + std::to_string(layout.total().value()) +
          " bytes for each of its paths, or empty the directory to start anew with smaller segments");
}

Result<void> FileLayout::check() const {
  const auto wrong = [](const std::string& detail) {
    return bad_input("layout", detail, "use FileLayout::for_capacity()");
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  if (row_bytes <= Bytes(0) || row_bytes.value() > kMost) return wrong("rows have no or too many bytes");
  if (segments < 3) return wrong("fewer than 3 segments");
  if (segment_bytes.value() % kPageBytes != 0 || meta_bytes.value() % kPageBytes != 0) {
    return wrong("sizes that are not multiples of " + std::to_string(kPage) + " bytes");
  }
  if (segment_bytes.value() < lone_row(stride())) return wrong("segments that hold no row");
  if (segment_bytes.value() / kPageBytes > std::int64_t{UINT32_MAX}) return wrong("segments above 16 TiB");
  if (segment_bytes.value() > kMost / segments) return wrong("a size that overflows");
  if (meta_bytes.value() > kMost ||
      meta_bytes.value() < head_bytes(segment_bytes.value(), segments, stride())) {
    return wrong("a journal too small for a checkpoint");
  }
  return {};
}

std::int64_t FileLayout::stride() const {
  return up(row_bytes.value());
}

std::uint32_t FileLayout::spare_segments() const {
  return std::max<std::uint32_t>(2, (segments + 7) / 8);
}

Bytes FileLayout::capacity() const {
  const std::int64_t rows = segment_bytes.value() / lone_row(stride());
  return row_bytes * (rows * static_cast<std::int64_t>(segments - spare_segments()));
}

std::int64_t FileLayout::journal_offset(int half) const {
  return kHeadPages * kPageBytes + half * journal_bytes();
}

std::int64_t FileLayout::journal_bytes() const {
  return (meta_bytes.value() - kHeadPages * kPageBytes) / 2 / kPageBytes * kPageBytes;
}

}  // namespace fulcrum
