#include "tiers/dram_jobs.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/errors.h"

namespace fulcrum {
namespace {

Error job_error(ErrorKind kind, const char* operation, JobId id, std::string detail, std::string next_step) {
  return make_error(kind, operation, "job " + std::to_string(id) + " of the memory tier", std::move(detail),
                    std::move(next_step));
}

Error full(JobId id, std::size_t wanted, const RowQuota& quota) {
  return job_error(ErrorKind::no_space, "write", id,
                   std::to_string(wanted) + " rows are wanted, " +
                       std::to_string(quota.limit() - quota.used()) + " of " + std::to_string(quota.limit()) +
                       " are free",
                   "erase blocks, end leases or raise the capacity");
}

}  // namespace

void DramJobs::add(Job job) {
  const Urgency urgency = job.reads ? job.read.urgency : Urgency::write_back;
  job.started = clock_.now();
  jobs_.emplace(std::pair(urgency, next_++), std::move(job));
}

void DramJobs::read(TierRead job) {
  Job running;
  running.reads = true;
  running.read = std::move(job);
  for (const BlockKey& key : running.read.keys) {
    Lease row = store_.find(key);
    if (!row) break;
    running.leases.push_back(std::move(row));
  }
  add(std::move(running));
}

void DramJobs::write(TierWrite job) {
  Job running;
  running.write = std::move(job);
  const auto& keys = running.write.keys;
  const auto held = std::count_if(keys.begin(), keys.end(),
                                  [this](const BlockKey& key) { return store_.find(key) != nullptr; });
  const std::size_t wanted = keys.size() - static_cast<std::size_t>(held);
  if (auto rows = store_.reserve(wanted)) {
    running.rows = std::move(*rows);
    std::reverse(running.rows.begin(), running.rows.end());  // taken from the back
  } else {
    running.error = full(running.write.id, wanted, store_.quota());
  }
  add(std::move(running));
}

void DramJobs::cancel(JobId id) {
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [id](const auto& each) { return each.second.id() == id; });
  if (found == jobs_.end() || over(found->second)) return;
  found->second.error =
      job_error(ErrorKind::interrupted, found->second.reads ? "read" : "write", id, "it was cancelled", {});
}

void DramJobs::advance(Job& job, std::size_t& room) {
  const std::size_t row = store_.row_bytes();
  while (room > 0 && !over(job)) {
    if (job.reads) {
      copy_out(job);
    } else {
      take_in(job);
    }
    room -= std::min(room, row);
  }
}

void DramJobs::copy_out(Job& job) {
  if (job.done == job.leases.size()) {
    job.error = job_error(ErrorKind::not_found, "read", job.id(),
                          "block " + std::to_string(job.done) + " is not held", {});
    return;
  }
  std::memcpy(job.read.rows[job.done], job.leases[job.done]->data(), store_.row_bytes());
  store_.touch({&job.read.keys[job.done], 1}, std::nullopt);
  store_.tally().medium_read += Bytes(static_cast<std::int64_t>(store_.row_bytes()));
  ++job.done;
}

void DramJobs::take_in(Job& job) {
  const TierWrite& write = job.write;
  const BlockKey& key = write.keys[job.done];
  if (store_.find(key) != nullptr) {
    store_.touch({&key, 1}, write.worth);
    ++job.done;
    return;
  }
  if (job.rows.empty()) {  // the block was there when the job came
    auto row = store_.reserve(1);
    if (!row) {
      job.error = full(write.id, 1, store_.quota());
      return;
    }
    job.rows = std::move(*row);
  }
  Row row = std::move(job.rows.back());
  job.rows.pop_back();
  std::memcpy(row.data(), write.rows[job.done], store_.row_bytes());
  const BlockKey& parent = job.done == 0 ? write.parent : write.keys[job.done - 1];
  store_.keep(key, {parent, write.first + job.done, write.worth}, std::move(row));
  ++job.done;
}

TierEvent DramJobs::event(Job& job) const {
  job.told = job.done;
  TierEvent event;
  event.id = job.id();
  event.blocks = job.done;
  event.ended = over(job);
  event.elapsed = clock_.now() - job.started;
  if (job.error) event.result = *job.error;
  return event;
}

std::size_t DramJobs::poll(std::span<TierEvent> out) {
  std::size_t room = kShare;
  std::size_t count = 0;
  for (auto at = jobs_.begin(); at != jobs_.end() && count < out.size();) {
    Job& job = at->second;
    advance(job, room);
    const bool ended = over(job);
    if (ended || job.done > job.told) out[count++] = event(job);
    at = ended ? jobs_.erase(at) : std::next(at);
    if (room == 0) break;
  }
  return count;
}

std::size_t DramJobs::finish(Seconds limit) {
  const Seconds deadline = clock_.now() + limit;
  std::size_t unfinished = 0;
  for (auto& [order, job] : jobs_) {
    while (!over(job) && clock_.now() < deadline) {
      std::size_t room = store_.row_bytes();
      advance(job, room);
    }
    if (over(job)) continue;
    ++unfinished;
    job.error =
        job_error(ErrorKind::interrupted, job.reads ? "read" : "write", job.id(), "the tier was closed", {});
  }
  return unfinished;
}

}  // namespace fulcrum
