#include "tiers/store_reader.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr std::size_t kChunk = 4 << 20;

}  // namespace

Result<void> run_request(Device& device, IoRequest request, Clock& clock, Seconds limit) {
  const Seconds deadline = clock.now() + limit;
  if (Result<void> started = device.submit(request); started.has_error()) return started;
  for (;;) {
    const Seconds before = clock.now();
    IoCompletion completion;
    const Result<std::size_t> count = device.poll({&completion, 1}, deadline - before);
    if (count.has_error()) return count.error();
    if (*count > 0) return completion.result;
    if (clock.now() >= deadline) break;
    if (clock.now() == before) clock.sleep(deadline - before);
  }
  return make_error(ErrorKind::timed_out, std::string(to_string(request.kind)), device.identity().path,
                    "the device has not answered for " + std::to_string(limit.value()) + " s",
                    "check the device; the kernel log may say more");
}

Error without_superblock(const std::string& where, const std::string& detail) {
  return make_error(
      ErrorKind::corrupt, "open the store in", where, detail,
      "put its file 'meta' back, or empty the directory to start anew ('engine: {foreign: replace}' "
      "in the policy does so): what it held is lost");
}

Result<std::vector<FoundSuperblock>> StoreReader::superblocks() {
  Result<AlignedBuffer> pages = AlignedBuffer::allocate(2 * kPage);
  if (pages.has_error()) return pages.error();
  pages_ = std::move(*pages);
  IoRequest request;
  request.kind = IoKind::read;
  request.buffer = pages_.span();
  if (Result<void> read = run_request(device_, request, clock_, limit_); read.has_error())
    return read.error();

  std::vector<FoundSuperblock> found;
  std::optional<Error> mismatch;
  std::optional<Error> corrupt;
  bool empty_place = false;
  for (const int slot : {0, 1}) {
    Result<Superblock> superblock =
        decode_superblock(pages_.span().subspan(static_cast<std::size_t>(slot) * kPage, kPage));
    if (!superblock.has_error()) {
      found.push_back({std::move(*superblock), slot});
    } else if (superblock.error().kind == ErrorKind::not_found) {
      empty_place = true;
    } else {
      (superblock.error().kind == ErrorKind::mismatch ? mismatch : corrupt) = superblock.error();
    }
  }
  // A newer program's superblock counts even beside one of ours: that program has taken the store over.
  if (mismatch) return *mismatch;
  if (found.empty() && corrupt && !empty_place) {
    return without_superblock(device_.identity().path,
                              "both superblocks are damaged, the last one: " + corrupt->detail);
  }
  std::ranges::sort(found, [](const FoundSuperblock& a, const FoundSuperblock& b) {
    return a.superblock.sequence > b.superblock.sequence;
  });
  return found;
}

Result<std::optional<std::uint32_t>> StoreReader::used_segment(const FileLayout& layout) {
  Result<AlignedBuffer> page = AlignedBuffer::allocate(kPage);
  if (page.has_error()) return page.error();
  pages_ = std::move(*page);
  for (std::uint32_t segment = 0; segment < layout.segments; ++segment) {
    IoRequest request;
    request.kind = IoKind::read;
    request.offset = layout.segment_offset(segment);
    request.buffer = pages_.span();
    if (Result<void> read = run_request(device_, request, clock_, limit_); read.has_error())
      return read.error();
    if (is_extent_header(pages_.span())) return std::optional(segment);
  }
  return std::optional<std::uint32_t>();
}

Result<void> StoreReader::fetch(std::int64_t offset, std::size_t bytes) {
  const std::size_t wanted = std::min(bytes, half_.size());
  while (fetched_ < wanted) {
    IoRequest request;
    request.kind = IoKind::read;
    request.offset = offset + static_cast<std::int64_t>(fetched_);
    request.buffer = half_.span().subspan(fetched_, std::min(kChunk, half_.size() - fetched_));
    if (Result<void> read = run_request(device_, request, clock_, limit_); read.has_error()) return read;
    fetched_ += request.buffer.size();
  }
  return {};
}

std::uint64_t StoreReader::count_behind(std::size_t at, std::uint64_t generation) const {
  std::uint64_t records = 0;
  for (; at < fetched_; at += kPage) {
    const Result<BatchHeader> batch = decode_batch(half_.span().subspan(at, fetched_ - at), generation);
    if (!batch.has_error()) records += batch->records;
  }
  return records;
}

Result<FoundJournal> StoreReader::journal(const Superblock& superblock) {
  std::vector<Record> records;
  Result<FoundJournal> found =
      journal(superblock, [&records](Record& record) { records.push_back(std::move(record)); });
  if (!found.has_error()) found->records = std::move(records);
  return found;
}

Result<FoundJournal> StoreReader::journal(const Superblock& superblock,
                                          const std::function<void(Record&)>& visit) {
  const auto size = static_cast<std::size_t>(superblock.layout.journal_bytes());
  Result<AlignedBuffer> half = AlignedBuffer::allocate(size);
  if (half.has_error()) return half.error();
  half_ = std::move(*half);
  fetched_ = 0;
  FoundJournal found;
  const std::uint64_t generation = superblock.journal_generation;
  const std::int64_t offset = superblock.layout.journal_offset(superblock.active_half);
  for (std::size_t at = 0; at < size;) {
    if (Result<void> read = fetch(offset, at + kBatchBytes); read.has_error()) return read.error();
    const std::span<const std::byte> bytes = half_.span().subspan(at, fetched_ - at);
    const Result<BatchHeader> batch = decode_batch(bytes, generation);
    const bool in_order = !batch.has_error() && batch->sequence == found.batches;
    Result<std::vector<Record>> records =
        in_order ? decode_records(bytes, *batch)
                 : Result<std::vector<Record>>(make_error(ErrorKind::corrupt, "read", "journal", "it ends"));
    if (records.has_error()) {
      // A half that a superblock points to begins with a checkpoint.
      const bool damage =
          found.batches == 0 || (batch.has_error() && batch.error().kind == ErrorKind::corrupt);
      found.dropped = (damage ? 1 : 0) + count_behind(at, generation);
      return found;
    }
    ++found.batches;
    found.time_ms = std::max(found.time_ms, batch->time_ms);
    found.count += records->size();
    std::ranges::for_each(*records, visit);
    at += (batch->bytes + kPage - 1) / kPage * kPage;
  }
  return found;
}

}  // namespace fulcrum
