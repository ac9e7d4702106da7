#include "tiers/striped_jobs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

Error interrupted(JobId id) {
  return make_error(ErrorKind::interrupted, "finish", "job " + std::to_string(id), "it was cancelled");
}

}  // namespace

void StripedJobs::read(TierRead job) {
  std::vector<std::optional<std::size_t>> holders;
  for (const BlockKey& key : job.keys) {
    const std::optional<std::size_t> holder = members_.holder(key);
    if (!holder) break;
    holders.push_back(holder);
  }
  const JobId id = job.id;
  Job running;
  running.reads = true;
  running.read = std::move(job);
  add(id, std::move(running), holders);
}

void StripedJobs::write(TierWrite job) {
  const std::vector<std::optional<std::size_t>> targets = members_.targets(job);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i]) continue;
    if (const auto holder = members_.holder(job.keys[i]))
      members_[*holder].touch({&job.keys[i], 1}, job.worth);
  }
  members_.on_begin(job.keys, targets);
  const JobId id = job.id;
  Job running;
  running.write = std::move(job);
  add(id, std::move(running), targets);
}

// Runs of blocks of one member are parts. Without a member they are there already.
void StripedJobs::add(JobId id, Job job, std::span<const std::optional<std::size_t>> members) {
  job.started = clock_.now();
  job.found = static_cast<std::uint32_t>(members.size());
  for (std::uint32_t i = 0; i < job.found; ++i) {
    if (i == 0 || members[i] != members[i - 1]) {
      Part part;
      part.member = members[i].value_or(0);
      part.begin = i;
      part.held = part.ended = !members[i];
      part.id = next_++;
      job.parts.push_back(part);
    }
    ++job.parts.back().count;
  }
  for (std::size_t i = 0; i < job.parts.size(); ++i) {
    Part& part = job.parts[i];
    if (part.held) {
      part.arrived = part.count;
      continue;
    }
    parts_.emplace(part.id, PartName{id, i});
    waiting_[part.member].push_back(part.id);
  }
  jobs_.emplace(id, std::move(job));
  queue(id);
  start_waiting();
}

void StripedJobs::start_waiting() {
  for (std::deque<JobId>& waiting : waiting_) {
    for (; !waiting.empty(); waiting.pop_front()) {
      const auto found = parts_.find(waiting.front());
      if (found != parts_.end() && !start(PartName(found->second))) break;
    }
  }
}

void StripedJobs::drop_waiting() {
  for (std::deque<JobId>& waiting : waiting_) {
    for (; !waiting.empty(); waiting.pop_front()) {
      const auto found = parts_.find(waiting.front());
      if (found != parts_.end()) end(PartName(found->second), interrupted(found->second.job));
    }
  }
}

bool StripedJobs::start(const PartName& name) {
  const Job& job = jobs_.at(name.job);
  const Part& part = job.parts[name.part];
  const Result<void> started = give(job, part);
  if (!started.has_error()) {
    jobs_.at(name.job).parts[name.part].given = true;
    return true;
  }
  if (started.error().kind == ErrorKind::busy && members_[part.member].in_flight() > 0) return false;
  end(name, started.error());
  return true;
}

Result<void> StripedJobs::give(const Job& job, const Part& part) {
  const auto cut = [&part](const auto& whole) {
    const auto begin = whole.begin() + part.begin;
    return std::decay_t<decltype(whole)>(begin, begin + part.count);
  };
  if (job.reads) {
    TierRead read;
    read.id = part.id;
    read.urgency = job.read.urgency;
    read.keys = cut(job.read.keys);
    read.rows = cut(job.read.rows);
    return members_[part.member].read(std::move(read));
  }
  TierWrite write;
  write.id = part.id;
  write.parent = part.begin == 0 ? job.write.parent : job.write.keys[part.begin - 1];
  write.first = job.write.first + part.begin;
  write.keys = cut(job.write.keys);
  write.rows = cut(job.write.rows);
  write.worth = job.write.worth;
  return members_[part.member].write(std::move(write));
}

void StripedJobs::on_event(const TierEvent& event) {
  const auto found = parts_.find(event.id);
  FULCRUM_CHECK(found != parts_.end(), "an event of a member's job that was never given");
  const PartName name = found->second;
  jobs_.at(name.job).parts[name.part].arrived = event.blocks;
  queue(name.job);
  if (!event.ended) return;
  end(name, event.result.has_error() ? std::optional(event.result.error()) : std::nullopt);
}

void StripedJobs::end(const PartName& name, std::optional<Error> error) {
  Part& part = jobs_.at(name.job).parts[name.part];
  const bool failed = error.has_value();
  part.ended = true;
  part.error = std::move(error);
  parts_.erase(part.id);
  queue(name.job);
  if (failed) cancel_from(name.job, name.part + 1);  // nobody could use what comes behind a gap
}

void StripedJobs::cancel_from(JobId id, std::size_t part) {
  std::vector<Part>& parts = jobs_.at(id).parts;
  for (; part < parts.size(); ++part) {
    Part& later = parts[part];
    if (later.ended) continue;
    if (later.given) {
      members_[later.member].cancel(later.id);
      continue;
    }
    later.ended = true;
    later.error = interrupted(id);
    parts_.erase(later.id);
  }
}

void StripedJobs::cancel(JobId id) {
  if (jobs_.count(id) == 0) return;
  cancel_from(id, 0);
  queue(id);
}

void StripedJobs::queue(JobId id) {
  if (!std::exchange(jobs_.at(id).queued, true)) changed_.push_back(id);
}

TierEvent StripedJobs::event(JobId id, Job& job) const {
  TierEvent event;
  event.id = id;
  event.ended = std::ranges::all_of(job.parts, &Part::ended);
  event.elapsed = clock_.now() - job.started;
  for (const Part& part : job.parts) {
    event.blocks += part.arrived;
    if (part.arrived < part.count) break;
  }
  if (!event.ended) return event;
  const auto failed =
      std::ranges::find_if(job.parts, [](const Part& part) { return part.error.has_value(); });
  if (failed != job.parts.end()) {
    event.result = *failed->error;
  } else if (job.found < job.keys().size()) {
    event.result = make_error(ErrorKind::not_found, "read", "job " + std::to_string(id),
                              "no member has block " + std::to_string(job.found));
  }
  return event;
}

std::size_t StripedJobs::tell(std::span<TierEvent> out) {
  std::size_t count = 0;
  for (; count < out.size() && !changed_.empty(); changed_.pop_front()) {
    const JobId id = changed_.front();
    Job& job = jobs_.at(id);
    job.queued = false;
    TierEvent news = event(id, job);
    if (!news.ended && news.blocks == job.told) continue;
    const std::span<const BlockKey> keys = job.keys();
    if (!job.reads) members_.on_reported(keys.subspan(job.told, news.blocks - job.told));
    job.told = news.blocks;
    if (news.ended) {
      for (const Part& part : job.parts) {
        if (!job.reads && !part.held) members_.on_over(keys.subspan(part.begin, part.count));
      }
      jobs_.erase(id);
    }
    out[count++] = std::move(news);
  }
  return count;
}

}  // namespace fulcrum
