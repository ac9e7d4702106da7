#include "tiers/file_reads.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace fulcrum {

void FileReads::start(TierRead given) {
  const JobId id = given.id;
  Job& job = jobs_[id];
  job.job = std::move(given);
  job.started = core_.clock.now();
  locate(job);
  request(job);
  end_if_done(job);
}

/// Notes where the leading blocks lie, and pins their segments.
void FileReads::locate(Job& job) {
  for (const BlockKey& key : job.job.keys) {
    const std::optional<BlockPlace> place = core_.state.index.find(key);
    if (!place) return;
    const ExtentFacts& extent = core_.state.index.extent(place->extent);
    Row row;
    row.sum = extent.blocks[place->position].sum;
    row.segment = extent.segment;
    row.page = row_page(extent.page, place->position, core_.stride());
    row.generation = extent.generation;
    job.rows.push_back(row);
    ++core_.state.segments[row.segment].readers;
  }
}

void FileReads::request(Job& job) {
  const std::uint32_t pages = core_.row_pages();
  const auto joined = [&](std::size_t i) {
    const Row& left = job.rows[i - 1];
    const Row& right = job.rows[i];
    return right.segment == left.segment && right.page == left.page + pages &&
           job.job.rows[i] == job.job.rows[i - 1] + core_.stride();
  };
  for (std::size_t from = 0; from < job.rows.size();) {
    std::size_t to = from + 1;
    while (to < job.rows.size() && joined(to)) ++to;
    push(job, from, to - from);
    from = to;
  }
}

IoRank FileReads::rank(const Job& job) const {
  switch (job.job.urgency) {
    case Urgency::load:
      return IoRank::load;
    case Urgency::preload:
      return IoRank::preload;
    case Urgency::write_back:
      return IoRank::write_back;
  }
  return IoRank::load;
}

void FileReads::push(Job& job, std::size_t from, std::size_t count) {
  for (std::size_t i = from; i < from + count; ++i) job.rows[i].missing = core_.stride();
  IoPiece piece;
  piece.rank = rank(job);
  piece.request.kind = IoKind::read;
  piece.request.offset = core_.place(job.rows[from].segment, job.rows[from].page);
  piece.request.buffer = {job.job.rows[from], count * static_cast<std::size_t>(core_.stride())};
  piece.client = this;
  piece.job = job.job.id;
  piece.cookie = from;
  job.pieces_out += core_.queue.push(piece);
}

void FileReads::on_piece(const IoPiece& piece, const Result<void>& result) {
  const auto found = jobs_.find(piece.job);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  --job.pieces_out;
  core_.health.on_read(result, core_.clock.now());
  // The bytes of the request that the piece was cut from, and of its rows those that the piece covers.
  std::int64_t at = piece.request.buffer.data() - job.job.rows[piece.cookie];
  const std::int64_t end = at + static_cast<std::int64_t>(piece.request.buffer.size());
  while (at < end) {
    const std::size_t i = piece.cookie + static_cast<std::size_t>(at / core_.stride());
    const std::int64_t part = std::min(end, (at / core_.stride() + 1) * core_.stride()) - at;
    at += part;
    if (result.has_error()) {
      fail_row(job, i, result.error());
    } else if ((job.rows[i].missing -= part) == 0) {
      on_row(job, i);
    }
  }
  advance(job);
  end_if_done(job);
}

void FileReads::on_row(Job& job, std::size_t i) {
  Row& row = job.rows[i];
  const std::span<const std::byte> bytes(job.job.rows[i],
                                         static_cast<std::size_t>(core_.options.layout.row_bytes.value()));
  if (row_sum(bytes, job.job.keys[i], row.segment, row.page, row.generation) == row.sum) {
    row.verified = true;
    return;
  }
  if (!row.again) ++core_.tally.corrupt;  // a row, not a reading
  if (!row.again && !job.cancelled && !job.failure) {
    row.again = true;
    push(job, i, 1);
    return;
  }
  fail_row(job, i,
           make_error(ErrorKind::corrupt, "read", "block " + std::to_string(i) + " of the job",
                      "its checksum is wrong: the bytes are not those that were written",
                      "nothing to do: the block is computed anew; many such blocks mean a failing drive"));
}

void FileReads::fail_row(Job& job, std::size_t i, const Error& error) {
  const Row& row = job.rows[i];
  // It may have been written anew elsewhere since.
  const std::optional<BlockPlace> place = core_.state.index.find(job.job.keys[i]);
  if (place) {
    const ExtentFacts& extent = core_.state.index.extent(place->extent);
    const bool same = extent.segment == row.segment && extent.generation == row.generation &&
                      row_page(extent.page, place->position, core_.stride()) == row.page;
    if (same) core_.lose(job.job.keys[i]);
  }
  if (job.failure) return;
  job.failure = error;
  job.pieces_out -= core_.queue.drop(this, job.job.id);
}

void FileReads::advance(Job& job) {
  const std::uint32_t before = job.arrived;
  while (job.arrived < job.rows.size() && job.rows[job.arrived].verified) ++job.arrived;
  if (job.arrived == before || job.pieces_out == 0) return;
  core_.report({job.job.id, job.arrived, false, {}, core_.clock.now() - job.started});
}

Result<void> FileReads::outcome(const Job& job) const {
  if (job.failure) return *job.failure;
  if (job.arrived == job.job.keys.size()) return {};
  if (job.cancelled) return make_error(ErrorKind::interrupted, "read", "job", "it was cancelled");
  return make_error(ErrorKind::not_found, "read", "block " + std::to_string(job.arrived) + " of the job",
                    "the tier does not hold it");
}

void FileReads::end_if_done(Job& job) {
  if (job.pieces_out > 0) return;
  const std::uint64_t now = core_.time_ms();
  for (std::size_t i = 0; i < job.rows.size(); ++i) {
    --core_.state.segments[job.rows[i].segment].readers;
    if (i < job.arrived) core_.state.index.touch(job.job.keys[i], std::nullopt, now);
  }
  core_.report({job.job.id, job.arrived, true, outcome(job), core_.clock.now() - job.started});
  jobs_.erase(job.job.id);
}

bool FileReads::cancel(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  Job& job = found->second;
  job.cancelled = true;
  job.pieces_out -= core_.queue.drop(this, id);
  end_if_done(job);
  return true;
}

void FileReads::cancel_all() {
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  for (const JobId id : ids) cancel(id);
}

}  // namespace fulcrum
