// The part of FileWrites that turns blocks into extents on the device.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "tiers/file_writes.h"

namespace fulcrum {
namespace {

constexpr std::int64_t kExtentBytes = 16 << 20;  // placed at once where commits are smaller
// On turning disks the next extent is summed up while the last one is written: neither may take long.
constexpr std::int64_t kExtentMost = 64 << 20;

}  // namespace

void FileWrites::place_due() {
  const std::int64_t ahead = 2 * std::min(core_.options.commit.value(), extent_bytes());
  const std::int64_t most = std::max(ahead, core_.options.budget.value());
  const auto unplaced = [](const Job& job) { return !job.failure && job.next < job.done.size(); };
  if (const auto move = jobs_.find(kMove); move != jobs_.end()) {
    while (unplaced(move->second) && place_some(kMove, move->second)) {
    }
  }
  while (!waiting_.empty() && waiting_.front() <= due_) {
    const auto found = jobs_.find(waiting_.front());
    if (found == jobs_.end() || !unplaced(found->second)) {
      waiting_.pop_front();
    } else if (bytes_out_ >= most || !place_some(found->first, found->second)) {
      return;
    }
  }
}

std::int64_t FileWrites::extent_bytes() const {
  const std::int64_t commit = core_.options.commit.value();
  return core_.options.turning ? std::min(commit, kExtentMost) : std::max(commit, kExtentBytes);
}

std::size_t FileWrites::run_limit() const {
  const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(1, extent_bytes() / core_.stride()));
  const auto half = static_cast<std::size_t>(std::max<std::uint64_t>(1, core_.capacity_rows() / 2));
  return std::min({rows, half, kExtentBlocks});
}

std::size_t FileWrites::rows_allowed(std::size_t run) {
  const std::uint64_t held = core_.state.index.blocks() + core_.rows_being_written;
  const std::uint64_t capacity = core_.capacity_rows();
  if (held + run <= capacity) return run;
  rows_over_ = held + run - capacity;
  return 0;
}

bool FileWrites::may_open(bool moves) const {
  const SegmentTable& segments = core_.state.segments;
  const std::uint32_t free = segments.count(SegmentState::free);
  // The last one is for reclaim, which gives back more than it takes; unless there are too few to move at
  // all.
  const bool grows = !core_.growth_refused && segments.allocated() < segments.size();
  const bool keep_last = !moves && (grows || segments.allocated() >= 3);
  return free > (keep_last ? 1U : 0U);
}

std::uint32_t FileWrites::rows_in_segment(bool moves) {
  SegmentTable& segments = core_.state.segments;
  const auto fit = [&](std::uint32_t head) {
    const std::uint32_t pages = core_.segment_pages() - head;
    return pages > 0 ? (pages - 1) / core_.row_pages() : 0;
  };
  if (const auto open = segments.open()) {
    if (const std::uint32_t rows = fit(segments[*open].head); rows > 0) return rows;
    segments.move(*open, SegmentState::sealed);
  }
  if (!may_open(moves)) {
    (moves ? move_wants_segment_ : wants_segment_) = true;
    core_.segment_wanted = true;
    return 0;
  }
  segments.move(*segments.any(SegmentState::free), SegmentState::open);
  segments[*segments.open()].head = 0;
  return fit(0);
}

bool FileWrites::place_some(Serial serial, Job& job) {
  if (free_headers_.empty()) return false;
  std::size_t run = 1;
  while (run < run_limit() && job.next + run < job.done.size() && !job.done[job.next + run]) ++run;
  if (serial != kMove) run = rows_allowed(run);
  if (run == 0) return false;
  const std::size_t count = std::min<std::size_t>(run, rows_in_segment(serial == kMove));
  if (count == 0) return false;
  write_extent(serial, job, count);
  return true;
}

void FileWrites::write_extent(Serial serial, Job& job, std::size_t count) {
  const std::uint32_t open = *core_.state.segments.open();
  Segment& segment = core_.state.segments[open];
  const std::uint64_t number = ++last_extent_;
  Extent& extent = extents_[number];
  extent.job = serial;
  extent.first_block = job.next;
  extent.header = free_headers_.back();
  free_headers_.pop_back();
  ExtentFacts& facts = extent.facts;
  facts.segment = open;
  facts.generation = segment.generation;
  facts.page = segment.head;
  facts.first = job.job.first + static_cast<std::uint32_t>(job.next);
  facts.parent = job.next == 0 ? job.job.parent : job.job.keys[job.next - 1];
  facts.used_ms = job.survivors ? job.survivors->used_ms : core_.time_ms();
  const auto size = static_cast<std::size_t>(core_.options.layout.row_bytes.value());
  for (std::size_t i = 0; i < count; ++i) {
    const BlockKey& key = job.job.keys[job.next + i];
    const std::uint32_t page = row_page(facts.page, i, core_.stride());
    const float worth = job.survivors ? job.survivors->blocks[job.next + i].worth : job.job.worth;
    facts.blocks.push_back({key,
                            row_sum({job.job.rows[job.next + i], size}, key, open, page, facts.generation),
                            worth > kGone ? worth : -std::numeric_limits<float>::max()});
  }
  segment.head += 1 + static_cast<std::uint32_t>(count) * core_.row_pages();
  segment.unsynced = true;
  ++segment.writers;
  ++job.extents_out;
  if (serial != kMove) core_.rows_being_written += count;
  push_extent(number, extent, job);
  job.next = run_at(job, job.next + count);
}

void FileWrites::push_extent(std::uint64_t number, Extent& extent, const Job& job) {
  const std::span<std::byte> header = headers_.span().subspan(extent.header * kPage, kPage);
  encode_extent_header(extent.facts, core_.options.name.fingerprint(), header);
  const std::int64_t start = core_.place(extent.facts.segment, extent.facts.page);
  const auto stride = static_cast<std::size_t>(core_.stride());
  const auto push = [&](std::int64_t offset, std::span<std::byte> bytes) {
    IoPiece piece;
    piece.rank = IoRank::write_back;
    piece.request.kind = IoKind::write;
    piece.request.offset = offset;
    piece.request.buffer = bytes;
    piece.client = this;
    piece.job = number;
    bytes_out_ += static_cast<std::int64_t>(bytes.size());
    extent.pieces_left += core_.queue.push(piece);
  };
  push(start, header);
  const std::span<const std::byte* const> rows =
      std::span(job.job.rows).subspan(extent.first_block, extent.facts.blocks.size());
  for (std::size_t from = 0; from < rows.size();) {
    std::size_t to = from + 1;
    while (to < rows.size() && rows[to] == rows[to - 1] + stride) ++to;
    // A write only reads the buffer.
    push(start + static_cast<std::int64_t>(kPage + from * stride),
         {const_cast<std::byte*>(rows[from]), (to - from) * stride});
    from = to;
  }
}

void FileWrites::on_piece(const IoPiece& piece, const Result<void>& result) {
  const auto found = extents_.find(piece.job);
  FULCRUM_CHECK(found != extents_.end(), "a piece of an extent that is not being written");
  Extent& extent = found->second;
  --extent.pieces_left;
  bytes_out_ -= static_cast<std::int64_t>(piece.request.buffer.size());
  core_.on_write(result);
  if (result.has_error()) {
    // What was written before stays good; nothing more is added where writing fails.
    SegmentTable& segments = core_.state.segments;
    if (segments.open() == extent.facts.segment) segments.move(extent.facts.segment, SegmentState::sealed);
    fail_extent(piece.job, result.error());
  } else if (extent.pieces_left == 0) {
    on_data(piece.job, extent);
  }
}

void FileWrites::fail_extent(std::uint64_t number, const Error& error) {
  Extent& extent = extents_.at(number);
  std::int64_t bytes = 0;
  const std::uint32_t dropped = core_.queue.drop(this, number, &bytes);
  bytes_out_ -= bytes;
  extent.pieces_left -= dropped;
  const bool incomplete = dropped > 0 || error.kind != ErrorKind::interrupted;
  if (incomplete && !extent.failure) extent.failure = error;
  if (extent.pieces_left == 0) on_data(number, extent);
}

/// Blocks that were erased, lost or written anew while they were being moved.
void FileWrites::drop_gone(const Job& job, Extent& extent) const {
  if (!job.survivors) return;
  for (std::size_t i = 0; i < extent.facts.blocks.size(); ++i) {
    StoredBlock& block = extent.facts.blocks[i];
    const std::optional<BlockPlace> now = core_.state.index.find(block.key);
    if (!now || *now != job.survivors->places[extent.first_block + i]) block.worth = kGone;
  }
}

void FileWrites::on_data(std::uint64_t number, Extent& extent) {
  free_headers_.push_back(extent.header);
  drop_gone(jobs_.at(extent.job), extent);
  const bool any = std::ranges::any_of(extent.facts.blocks, &StoredBlock::live);
  if (!extent.failure && core_.journal->broken()) extent.failure = core_.write_refused;
  if (extent.failure || !any) {
    finish(number, false);
    return;
  }
  extent.lsn = core_.journal->append(extent.facts);
  core_.committed += static_cast<std::int64_t>(extent.facts.blocks.size()) * core_.stride();
  if (core_.options.turning) {
    finish(number, true);  // the journal hears of it when the head goes there
  } else {
    publishing_.push_back(number);
  }
}

void FileWrites::finish(std::uint64_t number, bool live) {
  Extent extent = std::move(extents_.at(number));
  extents_.erase(number);
  Job& job = jobs_.at(extent.job);
  const std::size_t count = extent.facts.blocks.size();
  --core_.state.segments[extent.facts.segment].writers;
  --job.extents_out;
  if (extent.job != kMove) core_.rows_being_written -= count;
  if (extent.failure && !job.failure) job.failure = extent.failure;
  if (live) {
    drop_gone(job, extent);
    core_.state.index.add(std::move(extent.facts));
    for (std::size_t i = 0; i < count; ++i) job.done[extent.first_block + i] = true;
  }
  advance(extent.job);
}

}  // namespace fulcrum
