#include "tiers/journal.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace fulcrum {
namespace {

constexpr std::int64_t up(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + kPage - 1) / kPage * kPage);
}

IoRequest sync_request() {
  IoRequest request;
  request.kind = IoKind::sync;
  return request;
}

}  // namespace

Result<Journal> Journal::create(const Superblock& superblock, int slot, CheckpointSource& source) {
  Result<AlignedBuffer> batch = AlignedBuffer::allocate(kBatchBytes);
  if (batch.has_error()) return batch.error();
  Result<AlignedBuffer> page = AlignedBuffer::allocate(kPage);
  if (page.has_error()) return page.error();
  return Journal(superblock, slot, source, std::move(*batch), std::move(*page));
}

Journal::Journal(const Superblock& superblock, int slot, CheckpointSource& source, AlignedBuffer batch,
                 AlignedBuffer page)
    : superblock_(superblock),
      source_(&source),
      batch_(std::move(batch)),
      page_(std::move(page)),
      slot_(slot),
      sequence_(superblock.sequence),
      generation_(superblock.journal_generation) {
  superblock_.clean = false;
}

Lsn Journal::append(const Record& record) {
  FULCRUM_CHECK(!close_wanted_, "a record after the journal was closed");
  ++appended_;
  if (broken_ && !checkpointing()) {
    dropped_ = appended_;
    return appended_;
  }
  const std::size_t before = pending_.size();
  encode_record(record, pending_);
  sizes_.push_back(static_cast<std::uint32_t>(pending_.size() - before));
  return appended_;
}

bool Journal::checkpointing() const {
  return step_ == Step::chunk || step_ == Step::checkpoint_sync || step_ == Step::superblock ||
         step_ == Step::superblock_sync;
}

bool Journal::idle() const {
  const bool to_do = !sizes_.empty() || checkpoint_wanted_ || sync_wanted_ || (close_wanted_ && !closed());
  return step_ == Step::idle && !out_ && (!to_do || (broken_ && !checkpoint_wanted_));
}

std::size_t Journal::room() const {
  const std::int64_t left = superblock_.layout.journal_bytes() - head_;
  const auto most = std::min<std::int64_t>(left, kBatchBytes);
  return static_cast<std::size_t>(std::max<std::int64_t>(most, kBatchHeaderBytes)) - kBatchHeaderBytes;
}

IoRequest Journal::write_batch(std::span<const std::byte> records, std::uint32_t count,
                               std::uint64_t time_ms) {
  const Superblock& target = checkpointing() ? coming_ : superblock_;
  batch_records_ = count;
  batch_payload_ = records.size();
  batch_bytes_ = up(kBatchHeaderBytes + records.size());
  const auto batch = batch_.span().first(static_cast<std::size_t>(batch_bytes_));
  std::memcpy(batch.data() + kBatchHeaderBytes, records.data(), records.size());
  seal_batch({static_cast<std::uint32_t>(kBatchHeaderBytes + records.size()), count,
              target.journal_generation, batch_sequence_++, time_ms},
             batch);
  IoRequest request;
  request.kind = IoKind::write;
  request.offset = target.layout.journal_offset(target.active_half) + head_;
  request.buffer = batch;
  return request;
}

std::optional<IoRequest> Journal::append_batch(std::uint64_t time_ms) {
  std::size_t bytes = 0;
  std::uint32_t count = 0;
  while (count < sizes_.size() && bytes + sizes_[count] <= room()) bytes += sizes_[count++];
  if (count == 0) {
    begin_checkpoint();
    return next_chunk(time_ms);
  }
  step_ = Step::append;
  return write_batch(std::span(pending_).first(bytes), count, time_ms);
}

void Journal::begin_checkpoint() {
  checkpoint_wanted_ = false;
  coming_ = superblock_;
  coming_.sequence = ++sequence_;
  coming_.journal_generation = ++generation_;
  coming_.active_half = static_cast<std::uint8_t>(1 - superblock_.active_half);
  head_ = 0;
  batch_sequence_ = 0;
  step_ = Step::chunk;
  source_->rewind();
}

std::optional<IoRequest> Journal::next_chunk(std::uint64_t time_ms) {
  scratch_.clear();
  const std::uint32_t count = source_->encode_more(scratch_, room());
  FULCRUM_CHECK(count > 0 || scratch_.empty(), "records that are not counted");
  if (count > 0) return write_batch(scratch_, count, time_ms);
  step_ = Step::checkpoint_sync;
  return sync_request();
}

IoRequest Journal::write_superblock(bool clean) {
  if (!checkpointing()) {
    coming_ = superblock_;
    coming_.sequence = ++sequence_;
  }
  coming_.clean = clean;
  encode_superblock(coming_, page_.span());
  IoRequest request;
  request.kind = IoKind::write;
  request.offset = (1 - slot_) * static_cast<std::int64_t>(kPage);
  request.buffer = page_.span();
  return request;
}

std::optional<IoRequest> Journal::begin(std::uint64_t time_ms) {
  if (checkpoint_wanted_) {
    begin_checkpoint();
    return next_chunk(time_ms);
  }
  if (broken_) return std::nullopt;
  // A journal that never rests must be made durable all the same.
  if (std::exchange(sync_wanted_, false)) {
    step_ = Step::sync;
    return sync_request();
  }
  if (!sizes_.empty()) return append_batch(time_ms);
  if (close_wanted_ && !closed()) {
    step_ = Step::close_sync;
    return sync_request();
  }
  return std::nullopt;
}

std::optional<IoRequest> Journal::next(std::uint64_t time_ms) {
  if (out_) return std::nullopt;
  std::optional<IoRequest> request;
  switch (step_) {
    case Step::idle:
      request = begin(time_ms);
      break;
    case Step::chunk:
      request = next_chunk(time_ms);
      break;
    case Step::superblock:
      request = write_superblock(false);
      break;
    case Step::close_superblock:
      request = write_superblock(true);
      break;
    case Step::append:
    case Step::sync:
    case Step::checkpoint_sync:
    case Step::superblock_sync:
    case Step::close_sync:
    case Step::close_superblock_sync:
      request = sync_request();
      break;
  }
  out_ = request.has_value();
  return request;
}

void Journal::done(const Result<void>& result) {
  FULCRUM_CHECK(out_, "an answer without a request");
  out_ = false;
  if (result.has_error()) {
    fail();
  } else {
    advance();
  }
}

void Journal::advance() {
  switch (std::exchange(step_, Step::idle)) {
    case Step::append:
      written_ += batch_records_;
      sizes_.erase(sizes_.begin(), sizes_.begin() + batch_records_);
      pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(batch_payload_));
      head_ += batch_bytes_;
      unsynced_ = true;
      break;
    case Step::chunk:
      head_ += batch_bytes_;
      step_ = Step::chunk;
      break;
    case Step::checkpoint_sync:
      step_ = Step::superblock;
      break;
    case Step::superblock:
    case Step::close_superblock: {
      const bool closing = coming_.clean;
      superblock_ = coming_;
      slot_ = 1 - slot_;
      step_ = closing ? Step::close_superblock_sync : Step::superblock_sync;
      break;
    }
    case Step::superblock_sync:
      broken_ = false;
      written_ = std::max(written_, dropped_);
      unsynced_ = false;
      break;
    case Step::close_sync:
      step_ = Step::close_superblock;
      break;
    case Step::sync:
    case Step::close_superblock_sync:
      unsynced_ = false;
      break;
    case Step::idle:
      break;
  }
}

void Journal::fail() {
  // Where the head of the half stands is not known now: only a checkpoint elsewhere mends that. The records
  // wait for it, unless it was the checkpoint that failed.
  const Step failed = std::exchange(step_, Step::idle);
  if (failed == Step::append || failed == Step::sync) {
    checkpoint_wanted_ = true;
    return;
  }
  broken_ = true;
  close_wanted_ = false;
  pending_.clear();
  sizes_.clear();
  dropped_ = appended_;
}

}  // namespace fulcrum
