#include "tiers/file_upkeep.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr Seconds kSyncEvery{1};
constexpr Seconds kSyncEveryTurning{30};  // a flush costs a turning disk its position
constexpr Seconds kHoldMost{10};          // records of a turning disk: what a killed process forgets
constexpr Seconds kLookEvery{1};
constexpr Seconds kGrowFirst{1};
constexpr Seconds kGrowLongest{60};
constexpr std::int64_t kProbeOffset = 2 * static_cast<std::int64_t>(kPage);

}  // namespace

Result<AlignedBuffer> FileUpkeep::probe_page() {
  return AlignedBuffer::allocate(2 * kPage);
}

FileUpkeep::FileUpkeep(FileTierCore& core, AlignedBuffer page)
    : core_(core),
      page_(std::move(page)),
      sync_at_(core.clock.now() + kSyncEvery),
      write_down_at_(core.clock.now() + core.options.checkpoint_age),
      look_at_(core.clock.now() + kLookEvery),
      history_(core) {}

std::uint32_t FileUpkeep::push(Task task, IoKind kind, std::int64_t offset, std::span<std::byte> buffer,
                               std::int64_t length) {
  IoPiece piece;
  piece.request = {kind, offset, buffer, 0, length};
  piece.client = this;
  piece.cookie = static_cast<std::uint64_t>(task);
  return core_.queue.push(piece);
}

void FileUpkeep::on_piece(const IoPiece& piece, const Result<void>& result) {
  switch (static_cast<Task>(piece.cookie)) {
    case Task::journal:
      core_.on_write(result);
      on_journal(result);
      break;
    case Task::growth:
      on_grown(result);
      break;
    case Task::segment_sync:
      core_.on_write(result);
      if (--syncs_out_ == 0 && core_.journal->unsynced()) core_.journal->request_sync();
      break;
    case Task::probe_write:
      if (result.has_error()) {
        on_probed(result);
      } else {
        push(Task::probe_read, IoKind::read, kProbeOffset, page_.span().subspan(kPage, kPage));
      }
      break;
    case Task::probe_read: {
      const bool same = std::memcmp(page_.data(), page_.data() + kPage, kPage) == 0;
      Result<void> outcome = result;
      if (!result.has_error() && !same) {
        outcome = make_error(ErrorKind::device, "probe", core_.device.identity().path,
                             "a page that was written reads back differently", "replace the drive");
      }
      on_probed(outcome);
      break;
    }
  }
}

/// A batch may be larger than one transfer: it is written when all of it is.
void FileUpkeep::on_journal(const Result<void>& result) {
  if (result.has_error() && !journal_result_.has_error()) journal_result_ = result;
  if (--journal_out_ > 0) return;
  const Result<void> whole = std::exchange(journal_result_, {});
  core_.journal->done(whole);
  if (whole.has_error() && core_.journal->broken()) {
    core_.health.on_unwritable(whole.error(), core_.clock.now());
  }
}

bool FileUpkeep::journal_waits() {
  if (!core_.options.turning || !core_.journal->only_records()) return false;
  if (core_.journal->written() < visit_) return false;
  const bool for_room = core_.segment_wanted && core_.state.segments.count(SegmentState::retiring) > 0;
  const bool whole = core_.committed - told_committed_ >= core_.options.commit.value();
  if (!held_) held_ = core_.clock.now();
  if (!for_room && !whole && core_.clock.now() < *held_ + kHoldMost) return true;
  held_.reset();
  told_committed_ = core_.committed;
  visit_ = core_.journal->appended();
  return false;
}

void FileUpkeep::pump_journal() {
  const bool waits = journal_waits();
  if (!waits) {
    if (const std::optional<IoRequest> request = core_.journal->next(core_.time_ms())) {
      journal_out_ = push(Task::journal, request->kind, request->offset, request->buffer, request->length);
    }
  }
  // The last step of a probe whose page was fine.
  if (probe_checkpoint_ && (waits || core_.journal->idle())) {
    probe_checkpoint_ = false;
    probing_ = false;
    const Result<void> done;
    core_.health.on_probe(core_.journal->broken() && core_.write_refused ? *core_.write_refused : done,
                          core_.clock.now());
  }
}

void FileUpkeep::grow() {
  SegmentTable& segments = core_.state.segments;
  const bool enough = segments.count(SegmentState::free) + segments.count(SegmentState::growing) >= 2;
  const bool now = core_.clock.now() >= grow_at_ && segments.count(SegmentState::growing) == 0;
  if (enough || !now || core_.closing || !core_.writable()) return;
  if (const auto next = segments.any(SegmentState::ungrown)) take_space(*next);
}

void FileUpkeep::take_space(std::uint32_t segment) {
  core_.state.segments.move(segment, SegmentState::growing);
  push(Task::growth, IoKind::allocate, core_.options.layout.segment_offset(segment), {},
       core_.options.layout.segment_bytes.value());
}

void FileUpkeep::on_grown(const Result<void>& result) {
  SegmentTable& segments = core_.state.segments;
  const std::uint32_t grown = *segments.any(SegmentState::growing);
  // Where space cannot be taken ahead, writing takes it.
  if (!result.has_error() || result.error().kind == ErrorKind::unsupported) {
    segments.move(grown, SegmentState::free);
    segments[grown].generation = std::max<std::uint32_t>(segments[grown].generation, 1);
    core_.growth_refused.reset();
    grow_backoff_ = Seconds(0);
    if (std::exchange(probing_, false)) core_.health.on_probe({}, core_.clock.now());
    return;
  }
  segments.move(grown, SegmentState::ungrown);
  core_.growth_refused = result.error();
  grow_backoff_ = std::clamp(grow_backoff_ * 2, kGrowFirst, kGrowLongest);
  grow_at_ = core_.clock.now() + grow_backoff_;
  if (std::exchange(probing_, false)) core_.health.on_probe(result, core_.clock.now());
}

void FileUpkeep::sync_when_due() {
  const Seconds now = core_.clock.now();
  if (now < sync_at_ || syncs_out_ > 0) return;
  sync_at_ = now + (core_.options.turning ? kSyncEveryTurning : kSyncEvery);
  for (std::uint32_t i = 0; i < core_.state.segments.size(); ++i) {
    Segment& segment = core_.state.segments[i];
    if (!std::exchange(segment.unsynced, false)) continue;
    push(Task::segment_sync, IoKind::sync, core_.options.layout.segment_offset(i));
    ++syncs_out_;
  }
  if (syncs_out_ == 0 && core_.journal->unsynced()) core_.journal->request_sync();
}

bool FileUpkeep::probes_growth() const {
  const SegmentTable& segments = core_.state.segments;
  return core_.growth_refused.has_value() && segments.count(SegmentState::free) == 0 &&
         segments.count(SegmentState::ungrown) > 0;
}

void FileUpkeep::probe_when_due() {
  const Seconds now = core_.clock.now();
  const std::optional<Seconds> at = core_.health.probe_at();
  if (!at || now < *at || probing_ || core_.closing) return;
  core_.health.on_probe_started(now);
  if (removed_) return core_.health.on_probe(*removed_, now);  // writing would work, and be in vain
  probing_ = true;
  if (core_.health.health() == Health::degraded && probes_growth() && !core_.journal->broken()) {
    take_space(*core_.state.segments.any(SegmentState::ungrown));
    return;
  }
  ++nonce_;
  std::memcpy(page_.data(), &nonce_, sizeof nonce_);
  std::memcpy(page_.data() + sizeof nonce_, &core_.options.owner, sizeof core_.options.owner);
  push(Task::probe_write, IoKind::write, kProbeOffset, page_.span().first(kPage));
}

void FileUpkeep::look_for_files() {
  const Seconds now = core_.clock.now();
  if (now < look_at_ || removed_) return;
  look_at_ = now + kLookEvery;
  const Result<void> there = core_.device.in_place(looks_++);
  if (!there.has_error()) return;
  removed_ = there.error();
  core_.health.on_unwritable(*removed_, now);
}

void FileUpkeep::on_probed(const Result<void>& result) {
  if (!result.has_error() && core_.journal->broken()) {
    core_.journal->request_checkpoint();
    probe_checkpoint_ = true;
    return;
  }
  probing_ = false;
  core_.health.on_probe(result, core_.clock.now());
}

void FileUpkeep::step() {
  history_.account();
  if (!core_.journal) return;
  const Seconds now = core_.clock.now();
  if (now >= write_down_at_ && !core_.closing) {
    if (!core_.journal->broken()) history_.write_down();
    write_down_at_ = now + core_.options.checkpoint_age;
  }
  sync_when_due();
  look_for_files();
  grow();
  probe_when_due();
  pump_journal();
}

Seconds FileUpkeep::due_at() const {
  const Seconds now = core_.clock.now();
  Seconds due(std::numeric_limits<double>::infinity());
  // What is overdue waits for an answer of the device and not for a time.
  const auto consider = [&](Seconds at) {
    if (at > now) due = std::min(due, at);
  };
  if (!core_.journal) return due;
  consider(sync_at_);
  if (held_) consider(*held_ + kHoldMost);
  consider(write_down_at_);
  consider(look_at_);
  if (core_.health.probe_at()) consider(*core_.health.probe_at());
  if (core_.growth_refused) consider(grow_at_);
  return due;
}

}  // namespace fulcrum
