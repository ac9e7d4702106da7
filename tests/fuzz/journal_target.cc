// Laws of the journal: the reader ends, whatever the half holds; each record that it gives is written and
// read again as the same bytes; the state that they make is sound before and after it is trimmed.
//
// Input: how, then batches (records, payload bytes as a pair, payload) that are sealed in order, so that the
// record decoders see what they would never see behind a checksum; or else the half as it is. `how` may also
// break one byte afterwards.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/laws.h"
#include "tests/fuzz/targets.h"
#include "tests/support/test_device.h"
#include "tiers/format.h"
#include "tiers/store_reader.h"

namespace fulcrum::fuzz {
namespace {

constexpr std::uint64_t kGeneration = 9;

Superblock superblock() {
  const Result<FileLayout> layout = FileLayout::for_capacity(Bytes(512 << 10), Bytes(4096), Medium::flash);
  require(!layout.has_error(), "the layout of the target fits");
  Superblock out = superblock_for({"model", "paged", "bf16", 1, ""}, *layout);
  out.journal_generation = kGeneration;
  return out;
}

Bits batch_of(std::span<const std::byte> payload, std::uint32_t records, std::uint64_t sequence) {
  const std::size_t used = kBatchHeaderBytes + payload.size();
  Bits batch((used + kPage - 1) / kPage * kPage);
  std::copy(payload.begin(), payload.end(), batch.begin() + kBatchHeaderBytes);
  seal_batch({static_cast<std::uint32_t>(used), records, kGeneration, sequence, sequence}, batch);
  return batch;
}

Bits half_of(std::span<const std::byte> input, std::size_t size) {
  Input in(input);
  const std::uint8_t how = in.byte();
  const std::size_t broken = in.pair();
  Bits half;
  for (std::uint64_t sequence = 0; (how & 1) != 0 && !in.empty() && half.size() < size; ++sequence) {
    const std::uint32_t records = in.byte();
    const std::uint32_t bytes = in.pair();
    const Bits batch = batch_of(in.take(bytes), records, sequence);
    half.insert(half.end(), batch.begin(), batch.end());
  }
  if ((how & 1) == 0) {
    const std::span<const std::byte> rest = in.take(size);
    half.assign(rest.begin(), rest.end());
  }
  half.resize(size);
  if ((how & 2) != 0) half[broken % size] ^= std::byte{0x40};
  return half;
}

void check_record(const Record& record) {
  Bits first;
  encode_record(record, first);
  const Bits batch = batch_of(first, 1, 0);
  const Result<BatchHeader> header = decode_batch(batch, kGeneration);
  require(!header.has_error(), "a batch that was sealed can be read");
  const Result<std::vector<Record>> records = decode_records(batch, *header);
  require(!records.has_error() && records->size() == 1, "a record that was written can be read");
  Bits second;
  encode_record(records->front(), second);
  require(first == second, "writing the record that was read gives the same bytes");
}

}  // namespace

bool run_journal(std::span<const std::byte> input) {
  const Superblock known = superblock();
  const FileLayout& layout = known.layout;
  ManualClock clock;
  test::Image image(static_cast<std::size_t>(layout.total().value()));
  const Bits half = half_of(input, static_cast<std::size_t>(layout.journal_bytes()));
  std::copy(half.begin(), half.end(), image.begin() + layout.journal_offset(0));
  test::TestDevice device({layout.total(), {}, {}, 4096, 64}, clock, std::move(image));
  StoreReader reader(device, clock, Seconds(1));

  StoreState state(layout);
  std::uint64_t records = 0;
  const Result<FoundJournal> found = reader.journal(known, [&](Record& record) {
    ++records;
    check_record(record);
    take_up(record, layout, state);
  });
  require(!found.has_error(), "damage ends a journal and is no error");
  require(found->count == records, "records are counted as they are given");
  settle_segments(layout, state);
  check_state(state, layout);
  const auto rows = static_cast<std::uint64_t>(layout.capacity().value() / layout.row_bytes.value());
  trim(rows, state);
  check_state(state, layout);
  require(state.index.blocks() <= rows, "a store holds no more than it may");
  return records > 0;
}

}  // namespace fulcrum::fuzz
