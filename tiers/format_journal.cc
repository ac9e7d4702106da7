#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/errors.h"
#include "tiers/byte_codec.h"
#include "tiers/format.h"
#include "tiers/format_page.h"

namespace fulcrum {
namespace {

constexpr std::uint32_t kMagic = 0x31424a46;  // "FJB1"
constexpr std::size_t kRecordHeaderBytes = 8;

enum class RecordType : std::uint16_t { extent = 1, segment = 2, worth = 3, history = 4 };

Error damaged(std::string detail) {
  return make_error(ErrorKind::corrupt, "read", "journal", std::move(detail));
}

void put(ByteWriter& out, const ExtentFacts& facts) {
  out.put<std::uint32_t>(facts.segment);
  out.put<std::uint32_t>(facts.generation);
  out.put<std::uint32_t>(facts.page);
  out.put<std::uint32_t>(facts.first);
  out.put<std::uint64_t>(facts.parent.high);
  out.put<std::uint64_t>(facts.parent.low);
  out.put<std::uint64_t>(facts.used_ms);
  out.put<std::uint64_t>(facts.blocks.size());
  for (const StoredBlock& block : facts.blocks) {
    out.put<std::uint64_t>(block.key.high);
    out.put<std::uint64_t>(block.key.low);
    out.put<std::uint64_t>(block.sum);
    out.put<float>(block.worth);
  }
}

void put(ByteWriter& out, const SegmentRecord& record) {
  out.put<std::uint32_t>(record.segment);
  out.put<std::uint32_t>(record.generation);
}

void put(ByteWriter& out, const WorthRecord& record) {
  out.put<std::uint32_t>(record.segment);
  out.put<std::uint32_t>(record.generation);
  out.put<std::uint32_t>(record.page);
  out.put<std::uint32_t>(static_cast<std::uint32_t>(record.worth.size()));
  out.put<std::uint64_t>(record.used_ms);
  for (const float worth : record.worth) out.put<float>(worth);
}

void put(ByteWriter& out, const WriteHistory& history) {
  out.put<std::int64_t>(history.ever.value());
  out.put<std::int64_t>(history.today.value());
  out.put<std::int64_t>(history.day);
}

std::optional<Record> get_extent(ByteReader& in) {
  ExtentFacts facts;
  facts.segment = in.get<std::uint32_t>();
  facts.generation = in.get<std::uint32_t>();
  facts.page = in.get<std::uint32_t>();
  facts.first = in.get<std::uint32_t>();
  facts.parent.high = in.get<std::uint64_t>();
  facts.parent.low = in.get<std::uint64_t>();
  facts.used_ms = in.get<std::uint64_t>();
  const auto count = in.get<std::uint64_t>();
  if (!in.ok() || count == 0 || count > kExtentBlocks) return std::nullopt;
  facts.blocks.resize(count);
  for (StoredBlock& block : facts.blocks) {
    block.key.high = in.get<std::uint64_t>();
    block.key.low = in.get<std::uint64_t>();
    block.sum = in.get<std::uint64_t>();
    block.worth = in.get<float>();
  }
  return facts;
}

std::optional<Record> get_segment(ByteReader& in) {
  SegmentRecord record;
  record.segment = in.get<std::uint32_t>();
  record.generation = in.get<std::uint32_t>();
  return record;
}

std::optional<Record> get_worth(ByteReader& in) {
  WorthRecord record;
  record.segment = in.get<std::uint32_t>();
  record.generation = in.get<std::uint32_t>();
  record.page = in.get<std::uint32_t>();
  const auto count = in.get<std::uint32_t>();
  record.used_ms = in.get<std::uint64_t>();
  if (!in.ok() || count > kExtentBlocks) return std::nullopt;
  record.worth.resize(count);
  for (float& worth : record.worth) worth = in.get<float>();
  return record;
}

std::optional<Record> get_history(ByteReader& in) {
  WriteHistory history;
  history.ever = Bytes(in.get<std::int64_t>());
  history.today = Bytes(in.get<std::int64_t>());
  history.day = in.get<std::int64_t>();
  return history;
}

/// Nothing where the record is malformed; `known` turns false where its type is not known.
std::optional<Record> get_record(std::uint16_t type, std::span<const std::byte> body, bool& known) {
  ByteReader in(body);
  std::optional<Record> record;
  switch (static_cast<RecordType>(type)) {
    case RecordType::extent:
      record = get_extent(in);
      break;
    case RecordType::segment:
      record = get_segment(in);
      break;
    case RecordType::worth:
      record = get_worth(in);
      break;
    case RecordType::history:
      record = get_history(in);
      break;
    default:
      known = false;
  }
  if (!in.ok()) record.reset();
  return record;
}

}  // namespace

void encode_record(const Record& record, std::vector<std::byte>& out) {
  const std::size_t start = out.size();
  out.resize(start + kRecordHeaderBytes + kPage);
  const std::span<std::byte> space = std::span(out).subspan(start);
  ByteWriter body(space.subspan(kRecordHeaderBytes));
  std::visit([&body](const auto& one) { put(body, one); }, record);
  const std::size_t size = kRecordHeaderBytes + body.size();
  ByteWriter head(space);
  head.put<std::uint16_t>(static_cast<std::uint16_t>(record.index() + 1));
  head.put<std::uint16_t>(0);
  head.put<std::uint32_t>(static_cast<std::uint32_t>(size));
  out.resize(start + size);
}

void seal_batch(const BatchHeader& header, std::span<std::byte> batch) {
  FULCRUM_CHECK(header.bytes >= kBatchHeaderBytes && header.bytes <= batch.size(), "size of a batch");
  std::fill(batch.begin() + header.bytes, batch.end(), std::byte{0});
  ByteWriter out(batch);
  out.put<std::uint32_t>(kMagic);
  out.put<std::uint32_t>(header.bytes);
  out.put<std::uint64_t>(0);  // the checksum
  out.put<std::uint64_t>(header.generation);
  out.put<std::uint64_t>(header.sequence);
  out.put<std::uint64_t>(header.time_ms);
  out.put<std::uint32_t>(header.records);
  out.put<std::uint32_t>(0);
  seal_page(batch, header.generation);
}

Result<BatchHeader> decode_batch(std::span<const std::byte> bytes, std::uint64_t generation) {
  if (bytes.size() < kPage) return damaged("it ends within a page");
  if (is_zero(bytes.first(kBatchHeaderBytes))) {
    return make_error(ErrorKind::not_found, "read", "journal", "it ends here");
  }
  ByteReader in(bytes);
  if (in.get<std::uint32_t>() != kMagic) return damaged("a batch does not begin with its magic");
  BatchHeader header;
  header.bytes = in.get<std::uint32_t>();
  const std::size_t padded = (std::size_t{header.bytes} + kPage - 1) / kPage * kPage;
  if (header.bytes < kBatchHeaderBytes || padded > kBatchBytes) {
    return damaged("a batch claims " + std::to_string(header.bytes) + " bytes");
  }
  const auto sum = in.get<std::uint64_t>();
  header.generation = in.get<std::uint64_t>();
  header.sequence = in.get<std::uint64_t>();
  header.time_ms = in.get<std::uint64_t>();
  header.records = in.get<std::uint32_t>();
  if (header.generation != generation) {
    return make_error(ErrorKind::not_found, "read", "journal", "what follows is of an earlier generation");
  }
  if (padded > bytes.size()) return damaged("a batch runs over the end");
  if (sum != page_sum(bytes.first(padded), generation)) return damaged("the checksum of a batch is wrong");
  return header;
}

Result<std::vector<Record>> decode_records(std::span<const std::byte> bytes, const BatchHeader& header) {
  if (header.bytes < kBatchHeaderBytes || header.bytes > bytes.size()) return damaged("a batch is cut off");
  std::vector<Record> records;
  ByteReader in(bytes.subspan(kBatchHeaderBytes, header.bytes - kBatchHeaderBytes));
  for (std::uint32_t i = 0; i < header.records; ++i) {
    const auto type = in.get<std::uint16_t>();
    static_cast<void>(in.get<std::uint16_t>());
    const auto size = in.get<std::uint32_t>();
    if (!in.ok() || size < kRecordHeaderBytes) return damaged("a record has no room for its header");
    const std::span<const std::byte> body = in.take(size - kRecordHeaderBytes);
    if (!in.ok()) return damaged("a record runs over the end of its batch");
    bool known = true;
    std::optional<Record> record = get_record(type, body, known);
    if (record) records.push_back(std::move(*record));
    if (!record && known) return damaged("a record of type " + std::to_string(type) + " is malformed");
  }
  return records;
}

}  // namespace fulcrum
