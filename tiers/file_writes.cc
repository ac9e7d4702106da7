#include "tiers/file_writes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr std::size_t kHeaders = 256;  // extents that are being written at once

Error interrupted() {
  return make_error(ErrorKind::interrupted, "write", "job", "it was cancelled");
}

}  // namespace

Result<AlignedBuffer> FileWrites::header_pages() {
  return AlignedBuffer::allocate(kHeaders * kPage);
}

FileWrites::FileWrites(FileTierCore& core, AlignedBuffer headers)
    : core_(core), headers_(std::move(headers)) {
  for (std::size_t i = headers_.size() / kPage; i > 0; --i) free_headers_.push_back(i - 1);
}

void FileWrites::start(TierWrite given) {
  const Serial serial = ++last_job_;
  by_id_[given.id] = serial;
  Job& job = jobs_[serial];
  job.job = std::move(given);
  job.started = core_.clock.now();
  job.done.resize(job.job.keys.size());
  const std::uint64_t now = core_.time_ms();
  for (std::size_t i = 0; i < job.done.size(); ++i) {
    job.done[i] = core_.state.index.touch(job.job.keys[i], job.job.worth, now);
    if (!job.done[i]) gathered_ += core_.stride();
  }
  job.next = run_at(job, 0);
  waiting_.push_back(serial);
  advance(serial);
}

void FileWrites::move(Survivors survivors) {
  FULCRUM_CHECK(!moving(), "one move at a time");
  Job& job = jobs_[kMove];
  job.job.parent = survivors.parent;
  job.job.first = survivors.first;
  for (const StoredBlock& block : survivors.blocks) job.job.keys.push_back(block.key);
  job.job.rows = survivors.rows;
  job.done.resize(job.job.keys.size());
  job.survivors = std::move(survivors);
}

/// The first block from `from` on that is not there yet.
std::size_t FileWrites::run_at(const Job& job, std::size_t from) const {
  while (from < job.done.size() && job.done[from]) ++from;
  return from;
}

void FileWrites::gather() {
  if (last_job_ == due_) return;
  const auto oldest = jobs_.upper_bound(due_);
  const bool waited =
      oldest == jobs_.end() || core_.clock.now() >= oldest->second.started + core_.options.linger;
  if (!waited && !core_.closing && gathered_ < core_.options.commit.value()) return;
  due_ = last_job_;
  gathered_ = 0;
}

std::optional<Seconds> FileWrites::due_at() const {
  const auto oldest = jobs_.upper_bound(due_);
  if (oldest == jobs_.end()) return std::nullopt;
  return oldest->second.started + core_.options.linger;
}

void FileWrites::step() {
  wants_segment_ = false;
  move_wants_segment_ = false;
  core_.segment_wanted = false;
  rows_over_ = 0;
  publish_written();
  if (core_.writable()) {
    gather();
    place_due();
  } else if (!jobs_.empty()) {
    fail_waiting(core_.write_refused.value_or(
        make_error(ErrorKind::read_only, "write", core_.device.identity().path, core_.health.reason())));
  }
}

void FileWrites::fail_waiting(const Error& error) {
  std::vector<Serial> serials;
  for (const auto& [serial, job] : jobs_) serials.push_back(serial);
  for (const Serial serial : serials) end_now(serial, error);
}

/// No further block of the job is placed.
void FileWrites::end_now(Serial serial, const Error& error) {
  Job& job = jobs_.at(serial);
  if (!job.failure) job.failure = error;
  advance(serial);
}

/// What of the job's extents has not gone to the device stays where it is.
void FileWrites::give_up_extents(Serial serial, const Error& error) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, extent] : extents_) {
    if (extent.job == serial && extent.pieces_left > 0) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) fail_extent(number, error);
}

bool FileWrites::cancel(JobId id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  const Serial serial = found->second;
  end_now(serial, interrupted());
  give_up_extents(serial, interrupted());
  return true;
}

void FileWrites::cancel_all() {
  std::vector<Serial> serials;
  for (const auto& [serial, job] : jobs_) serials.push_back(serial);
  for (const Serial serial : serials) {
    end_now(serial, interrupted());
    give_up_extents(serial, interrupted());
  }
}

void FileWrites::give_up_move() {
  if (moving()) end_now(kMove, interrupted());
}

void FileWrites::advance(Serial serial) {
  const auto found = jobs_.find(serial);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  const std::uint32_t before = job.arrived;
  job.arrived =
      static_cast<std::uint32_t>(std::find(job.done.begin(), job.done.end(), false) - job.done.begin());
  const bool placed = job.next == job.done.size() || job.failure.has_value();
  const bool ended = placed && job.extents_out == 0;
  if (serial != kMove && (ended || job.arrived > before)) {
    Result<void> result;
    if (ended && job.failure && job.arrived < job.done.size()) result = *job.failure;
    core_.report({job.job.id, job.arrived, ended, std::move(result), core_.clock.now() - job.started});
  }
  if (!ended) return;
  if (serial != kMove) by_id_.erase(job.job.id);
  jobs_.erase(found);
}

void FileWrites::publish_written() {
  while (!publishing_.empty()) {
    const std::uint64_t number = publishing_.front();
    const bool written = extents_.at(number).lsn <= core_.journal->written();
    if (!written && !core_.journal->broken()) return;
    publishing_.pop_front();
    if (written) {
      finish(number, true);
    } else {
      extents_.at(number).failure = core_.write_refused;
      finish(number, false);
    }
  }
}

}  // namespace fulcrum
