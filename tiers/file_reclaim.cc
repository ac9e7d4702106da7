#include "tiers/file_reclaim.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace fulcrum {
namespace {

constexpr std::int64_t kMoveBytes = 16 << 20;  // read and written again at once
constexpr std::uint32_t kAhead = 2;            // segments to be free before they are needed

}  // namespace

Result<AlignedBuffer> FileReclaim::row_buffer(const FileTierOptions& options) {
  const std::int64_t stride = options.layout.stride();
  const std::int64_t rows = std::clamp<std::int64_t>(kMoveBytes / stride, 1, kExtentBlocks);
  return AlignedBuffer::allocate(static_cast<std::size_t>(rows * stride));
}

std::uint32_t FileReclaim::rows_at_once() const {
  return static_cast<std::uint32_t>(rows_.size() / static_cast<std::size_t>(core_.stride()));
}

bool FileReclaim::busy() const {
  return victim_.has_value() || core_.state.segments.count(SegmentState::retiring) > 0;
}

bool FileReclaim::needed() const {
  if (writes_.rows_over() > 0) return true;
  const SegmentTable& segments = core_.state.segments;
  std::uint32_t coming = segments.count(SegmentState::free) + segments.count(SegmentState::retiring) +
                         segments.count(SegmentState::growing);
  if (!core_.growth_refused) coming += segments.count(SegmentState::ungrown);
  // Where few segments could be had at all, one is as many as there can be.
  return coming < (segments.allocated() >= 3 ? kAhead : 1U);
}

double FileReclaim::worth_of(std::uint32_t segment) const {
  double sum = 0;
  for (const std::uint32_t id : core_.state.index.in_segment(segment)) {
    for (const StoredBlock& block : core_.state.index.extent(id).blocks)
      sum += std::exp2(double{block.worth});
  }
  return sum;
}

std::optional<std::uint32_t> FileReclaim::pick() {
  SegmentTable& segments = core_.state.segments;
  std::optional<std::uint32_t> victim;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < segments.size(); ++i) {
    if (segments[i].state != SegmentState::sealed || segments[i].writers > 0) continue;
    // What is being read cannot be freed now: it is the last choice.
    const double worth = worth_of(i) * (segments[i].readers > 0 ? 1e6 : 1.0);
    if (victim && worth >= least) continue;
    victim = i;
    least = worth;
  }
  if (victim) return victim;
  // All that there is lies in the open segment.
  const auto open = segments.open();
  const bool stuck = writes_.rows_over() > 0 || writes_.wants_segment();
  if (!open || !stuck || segments[*open].writers > 0 || segments[*open].head == 0) return std::nullopt;
  segments.move(*open, SegmentState::sealed);
  return open;
}

std::size_t FileReclaim::keep_limit(std::uint32_t segment) const {
  const SegmentTable& segments = core_.state.segments;
  if (segments.count(SegmentState::free) == 0 && !segments.open()) return 0;
  const std::size_t half = core_.segment_pages() / (1 + core_.row_pages()) / 2;
  const std::uint64_t live = core_.state.index.live_in(segment);
  // Where the capacity is the limit, moving everything would free nothing.
  const std::uint64_t over = writes_.rows_over();
  return std::min<std::size_t>(half, live > over ? live - over : 0);
}

void FileReclaim::choose_survivors(std::uint32_t segment) {
  std::vector<std::pair<float, BlockPlace>> live;
  for (const std::uint32_t id : core_.state.index.in_segment(segment)) {
    const std::vector<StoredBlock>& blocks = core_.state.index.extent(id).blocks;
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].live()) live.emplace_back(blocks[i].worth, BlockPlace{id, i});
    }
  }
  const std::size_t keep = std::min(live.size(), keep_limit(segment));
  // Equals stay in order: the front of a chain is worth more than what hangs on it.
  std::ranges::stable_sort(live, [](const auto& a, const auto& b) { return a.first > b.first; });
  live.resize(keep);
  std::ranges::sort(live, [](const auto& a, const auto& b) {
    return std::pair(a.second.extent, a.second.position) < std::pair(b.second.extent, b.second.position);
  });
  runs_.clear();
  for (const auto& [worth, place] : live) {
    const bool joins = !runs_.empty() && runs_.back().extent == place.extent &&
                       runs_.back().end == place.position &&
                       runs_.back().end - runs_.back().begin < rows_at_once();
    if (joins) {
      ++runs_.back().end;
    } else {
      runs_.push_back({place.extent, place.position, place.position + 1});
    }
  }
  std::ranges::reverse(runs_);  // they are taken from the back
}

void FileReclaim::read_next() {
  current_ = runs_.back();
  runs_.pop_back();
  reading_ = true;
  failed_ = false;
  const ExtentFacts& extent = core_.state.index.extent(current_.extent);
  IoPiece piece;
  piece.rank = IoRank::write_back;
  piece.request.kind = IoKind::read;
  piece.request.offset = core_.place(extent.segment, row_page(extent.page, current_.begin, core_.stride()));
  piece.request.buffer =
      rows_.span().first((current_.end - current_.begin) * static_cast<std::size_t>(core_.stride()));
  piece.client = this;
  pieces_out_ = core_.queue.push(piece);
}

void FileReclaim::on_piece(const IoPiece& /*piece*/, const Result<void>& result) {
  --pieces_out_;
  core_.health.on_read(result, core_.clock.now());
  if (result.has_error()) failed_ = true;
}

/// Passes on what was read and is right; a row that is not is lost, and ends what is moved together.
void FileReclaim::write_read() {
  reading_ = false;
  const ExtentFacts& extent = core_.state.index.extent(current_.extent);
  Survivors survivors;
  const std::uint32_t begin = current_.begin;
  survivors.parent = begin == 0 ? extent.parent : extent.blocks[begin - 1].key;
  survivors.first = extent.first + begin;
  survivors.used_ms = extent.used_ms;
  const auto size = static_cast<std::size_t>(core_.options.layout.row_bytes.value());
  for (std::uint32_t i = begin; i < current_.end; ++i) {
    const StoredBlock& block = extent.blocks[i];
    const std::byte* row = rows_.data() + (i - begin) * static_cast<std::size_t>(core_.stride());
    const std::uint32_t page = row_page(extent.page, i, core_.stride());
    const bool right =
        !failed_ && row_sum({row, size}, block.key, extent.segment, page, extent.generation) == block.sum;
    if (!right) {
      if (!failed_) ++core_.tally.corrupt;
      if (i + 1 < current_.end) runs_.push_back({current_.extent, i + 1, current_.end});
      core_.lose(block.key);
      break;
    }
    survivors.blocks.push_back(block);
    survivors.places.push_back({current_.extent, i});
    survivors.rows.push_back(row);
  }
  if (!survivors.blocks.empty()) writes_.move(std::move(survivors));
  ++core_.activity;
}

void FileReclaim::retire() {
  Segment& segment = core_.state.segments[*victim_];
  ++segment.generation;
  segment.ready = core_.journal->append(SegmentRecord{*victim_, segment.generation});
  core_.state.segments.move(*victim_, SegmentState::retiring);
  segment.head = 0;
  std::vector<BlockKey> keys = core_.state.index.drop_segment(*victim_);
  core_.tally.blocks_lost += keys.size();
  core_.lost.insert(core_.lost.end(), keys.begin(), keys.end());
  victim_.reset();
  ++core_.activity;
}

void FileReclaim::stop() {
  pieces_out_ -= core_.queue.drop(this, 0);
  runs_.clear();
  writes_.give_up_move();
  if (pieces_out_ == 0) {
    reading_ = false;
    victim_.reset();
  }
}

void FileReclaim::step() {
  core_.activity += core_.state.segments.settle(core_.journal->written());
  if (!core_.writable() || core_.closing) {
    if (victim_) stop();
    return;
  }
  for (;;) {
    if (pieces_out_ > 0 || writes_.moving()) {
      // Nothing will come free for the move: what it was to keep is given up.
      const bool stuck =
          writes_.move_wants_segment() && core_.state.segments.count(SegmentState::retiring) == 0;
      if (stuck) {
        runs_.clear();
        writes_.give_up_move();
      }
      if (pieces_out_ > 0 || writes_.moving()) return;
    }
    if (reading_) {
      write_read();
    } else if (!runs_.empty()) {
      read_next();
      return;
    } else if (victim_) {
      retire();
      return;  // how much more room is needed is for the writes to say
    } else {
      if (!needed()) return;
      victim_ = pick();
      if (!victim_) return;
      choose_survivors(*victim_);
    }
  }
}

}  // namespace fulcrum
