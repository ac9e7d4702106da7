// EngineCore: reading. Orders and loads become fetches, fetches become jobs, jobs bring rows to loads.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "engine/core.h"

namespace fulcrum::engine {
namespace {

// Rows of short fetches are kept until the fetch is over, for loads that come later and share it.
constexpr std::size_t kKeptShare = 8;
// What a tier is asked for at a time, over what its devices move at once: enough for a job to be handed over
// while others move, and no more. Few rows that are used again and again stay in the processor's cache, where
// devices write to and checksums read from.
constexpr double kAhead = 2;
constexpr Bytes kAtOnceLeast{std::int64_t{8} << 20};  // of a tier that does not say
constexpr std::uint32_t kRowsLeast = 2;               // of one fetch among many
constexpr std::uint32_t kJobs = 4;  // that a fetch has under way at a time, where its rows are enough

bool tier_lacks_it(ErrorKind kind) {
  return kind == ErrorKind::not_found || kind == ErrorKind::corrupt || kind == ErrorKind::device ||
         kind == ErrorKind::stale;
}

}  // namespace

// Blocks in host memory are read where they are.
void EngineCore::serve_from_memory(const Order& order, Seconds now) {
  std::vector<Follower> followers;
  if (const auto found = expected_.find(order.id); found != expected_.end()) {
    followers = std::move(found->second);
    expected_.erase(found);
  }
  std::uint32_t held = 0;
  for (const BlockKey& key : order.keys) {
    const Lease row = dram_->lease(key);
    if (!row) break;
    const std::uint32_t position = order.first + held++;
    for (const Follower& follower : followers) {
      const auto load = loads_.find(follower.load);
      if (load == loads_.end() || position < follower.begin || position >= follower.end) continue;
      load->second.state->put(position - load->second.state->first(), row);
    }
  }
  const bool whole = held == order.keys.size();
  if (!whole) stop(followers);
  answer(order.id, whole ? OutcomeKind::done : OutcomeKind::failed, held, now, now);
}

EngineCore::FetchId EngineCore::begin_fetch(Fetch fetch, Seconds now) {
  const FetchId id = next_++;
  fetch.started = now;
  fetch.limit = static_cast<std::uint32_t>(fetch.keys.size());
  fetch.here.resize(fetch.keys.size());
  fetch.beside = tier(fetch.source).fetches++;
  if (fetch.keys.size() <= staging_.rows() / kKeptShare) fetch.kept.resize(fetch.keys.size());
  if (const auto found = expected_.find(fetch.order); fetch.order != 0 && found != expected_.end()) {
    fetch.followers = std::move(found->second);
    expected_.erase(found);
  }
  if (fetch.order != 0) fetch_of_.emplace(fetch.order, id);
  fetches_.emplace(id, std::move(fetch));
  pump(id, now);
  return id;
}

// Reads blocks for one load besides the decider's orders: what a fetch that it follows late has let go.
void EngineCore::fetch_for(const Follower& follower, TierId source, Seconds now) {
  const auto found = loads_.find(follower.load);
  if (found == loads_.end() || follower.begin >= follower.end) return;
  const LoadRecord& record = found->second;
  const std::uint32_t skip = follower.begin - record.state->first();
  Fetch fetch;
  fetch.source = source;
  fetch.first = follower.begin;
  fetch.parent = skip == 0 ? record.parent : record.keys[skip - 1];
  const auto begin = record.keys.begin() + skip;
  fetch.keys.assign(begin, begin + (follower.end - follower.begin));
  fetch.followers = {follower};
  begin_fetch(std::move(fetch), now);
}

// A load wants blocks that an order brings: one to come, or one on its way.
void EngineCore::follow(OrderId order, const Follower& follower, Seconds now) {
  const auto found = fetch_of_.find(order);
  if (found == fetch_of_.end()) {
    expected_[order].push_back(follower);
    return;
  }
  Fetch& fetch = fetches_.at(found->second);
  fetch.followers.push_back(follower);
  catch_up(fetch, follower);
  const std::uint32_t begin = std::max(follower.begin, fetch.first);
  const std::uint32_t come = std::min(follower.end, fetch.first + fetch.arrived);
  if (fetch.kept.empty() && !fetch.into_dram && begin < come) {
    fetch_for({follower.load, begin, come}, fetch.source, now);
  }
}

void EngineCore::catch_up(Fetch& fetch, const Follower& follower) {
  const auto load = loads_.find(follower.load);
  if (load == loads_.end()) return;
  for (std::uint32_t position = std::max(follower.begin, fetch.first); position < follower.end; ++position) {
    const std::uint32_t block = position - fetch.first;
    if (block >= fetch.keys.size()) return;
    Lease row = fetch.into_dram      ? dram_->lease(fetch.keys[block])
                : fetch.kept.empty() ? nullptr
                                     : fetch.kept[block];
    if (row) load->second.state->put(position - load->second.state->first(), std::move(row));
  }
}

// How many rows a tier is asked for at a time, of all its fetches together.
std::uint32_t EngineCore::rows_at_once(const TierState& source) const {
  const double bytes = kAhead * static_cast<double>(std::max(source.status.at_once, kAtOnceLeast).value());
  return std::max(static_cast<std::uint32_t>(bytes / static_cast<double>(parts_.row_bytes.value())),
                  kRowsLeast);
}

// It goes on when its turn comes and there is room: settle().
void EngineCore::queue(FetchId id) {
  Fetch& fetch = fetches_.at(id);
  if (!std::exchange(fetch.queued, true)) starved_.push_back(id);
}

// Gives the tier further jobs, as far as it takes them and there are rows for them.
void EngineCore::pump(FetchId id, Seconds now) {
  Fetch& fetch = fetches_.at(id);
  TierState& source = tier(fetch.source);
  const std::uint32_t all = rows_at_once(source);
  const auto beside = static_cast<std::uint32_t>(std::max<std::uint64_t>(source.fetches, 1));
  const std::uint32_t share = std::max(all / beside, kRowsLeast);
  while (fetch.asked < fetch.limit) {
    if (fetch.asked - fetch.arrived >= share) return;  // what arrives brings it back here
    if (source.rows_asked >= all) return queue(id);
    const std::uint32_t wanted = std::min(fetch.limit - fetch.asked, std::max(1U, share / kJobs));
    ReadJob job;
    job.fetch = id;
    job.from = fetch.asked;
    TierRead read;
    read.urgency = fetch.into_dram ? Urgency::preload : Urgency::load;
    if (fetch.into_dram) {
      std::optional<std::vector<Row>> rows = dram_->reserve(wanted);
      if (!rows) {  // leases hold the room that the decider counted on
        fetch.limit = fetch.asked;
        break;
      }
      for (const Row& row : *rows) read.rows.push_back(row.data());
      job.reserved = std::move(*rows);
    } else {
      job.staged = staging_.take(wanted);
      if (job.staged.size() < wanted) fetch.starved = true;
      if (job.staged.empty()) {
        return queue(id);
      }
      for (const StagedRow& row : job.staged) read.rows.push_back(row->data());
    }
    job.blocks = read.rows.size();
    read.keys.assign(fetch.keys.begin() + fetch.asked,
                     fetch.keys.begin() + fetch.asked + static_cast<std::ptrdiff_t>(job.blocks));
    source.rows_asked += job.blocks;
    Job whole;
    whole.read = std::move(job);
    read.id = begin_job(fetch.source, std::move(whole), now);
    fetch.jobs.emplace(fetch.asked, read.id);
    fetch.asked += static_cast<std::uint32_t>(read.keys.size());
    source.port->read(std::move(read));
  }
  end_if_over(id, now);
}

void EngineCore::on_read(Job& job, const TierEvent& event, Seconds now) {
  ReadJob& read = *job.read;
  const auto found = fetches_.find(read.fetch);
  FULCRUM_CHECK(found != fetches_.end(), "a fetch outlives its jobs");
  Fetch& fetch = found->second;
  arrive(fetch, read, event.blocks);
  if (!event.ended) return;
  if (!read.in_limbo) tier(job.tier).rows_asked -= read.blocks;
  if (read.in_limbo) tier(job.tier).limbo -= parts_.row_bytes * static_cast<std::int64_t>(read.blocks);
  fetch.jobs.erase(read.from);
  const std::uint32_t end = read.from + read.arrived;
  if (event.result.has_error() && end < fetch.limit) {
    fetch.limit = end;
    fetch.failed = tier_lacks_it(event.result.error().kind);
    for (const auto& [from, other] : fetch.jobs) {
      if (from >= end) tier(fetch.source).port->cancel(other);
    }
  }
  const FetchId whole = read.fetch;
  if (fetch.asked < fetch.limit) {
    queue(whole);  // behind those that have waited for longer
  } else {
    end_if_over(whole, now);
  }
}

// Blocks of a job are here: to their loads, and where they are to stay.
void EngineCore::arrive(Fetch& fetch, ReadJob& job, std::uint32_t blocks) {
  for (; job.arrived < blocks; ++job.arrived) {
    const std::uint32_t block = job.from + job.arrived;
    Lease row;
    if (fetch.into_dram) {
      std::vector<Row> one;
      one.push_back(std::move(job.reserved[job.arrived]));
      const BlockKey parent = block == 0 ? fetch.parent : fetch.keys[block - 1];
      dram_->publish(parent, fetch.first + block, {&fetch.keys[block], 1}, std::move(one),
                     static_cast<float>(fetch.worth));
      row = dram_->lease(fetch.keys[block]);
    } else {
      row = std::move(job.staged[job.arrived]);
    }
    deliver(fetch, block, row);
    if (!fetch.kept.empty()) fetch.kept[block] = std::move(row);
    fetch.here[block] = true;
  }
  while (fetch.arrived < fetch.here.size() && fetch.here[fetch.arrived]) ++fetch.arrived;
}

void EngineCore::deliver(const Fetch& fetch, std::uint32_t block, const Lease& row) {
  const std::uint32_t position = fetch.first + block;
  for (const Follower& follower : fetch.followers) {
    if (position < follower.begin || position >= follower.end) continue;
    const auto load = loads_.find(follower.load);
    if (load != loads_.end()) load->second.state->put(position - load->second.state->first(), row);
  }
}

// Nobody waits for it any more, or the decider wants it to stop.
void EngineCore::call_off(FetchId id, Seconds now) {
  Fetch& fetch = fetches_.at(id);
  if (fetch.called_off) return;
  fetch.called_off = true;
  fetch.limit = std::min(fetch.limit, fetch.asked);
  for (const auto& [from, job] : fetch.jobs) {
    tier(fetch.source).port->cancel(job);
    count_limbo(jobs_.at(job));
  }
  end_if_over(id, now);
}

// What they wait for does not come: they end with what they have.
void EngineCore::stop(const std::vector<Follower>& followers) {
  for (const Follower& follower : followers) {
    const auto load = loads_.find(follower.load);
    if (load != loads_.end()) load->second.state->finish(LoadEnd::stopped);
  }
}

void EngineCore::end_if_over(FetchId id, Seconds now) {
  const auto found = fetches_.find(id);
  if (found == fetches_.end() || !found->second.jobs.empty() || found->second.asked < found->second.limit) {
    return;
  }
  Fetch fetch = std::move(found->second);
  fetches_.erase(found);
  if (fetch.order != 0) fetch_of_.erase(fetch.order);
  --tier(fetch.source).fetches;
  const bool whole = fetch.arrived == fetch.keys.size();
  if (whole) observe(fetch, now);
  if (whole && !fetch.into_dram && fetch.order != 0) {
    tier(fetch.source).port->touch(fetch.keys, static_cast<float>(fetch.worth));
  }
  for (const Follower& follower : fetch.followers) {
    const auto load = loads_.find(follower.load);
    const std::uint32_t here = fetch.first + fetch.arrived;
    if (load == loads_.end() || whole || follower.end <= here) continue;
    if (fetch.failed || fetch.called_off || fetch.order == 0) {
      load->second.state->finish(LoadEnd::stopped);
    } else {  // the order was cut short, but the blocks are there
      fetch_for({follower.load, std::max(follower.begin, here), follower.end}, fetch.source, now);
    }
  }
  const OutcomeKind kind = whole          ? OutcomeKind::done
                           : fetch.failed ? OutcomeKind::failed
                                          : OutcomeKind::partial;
  answer(fetch.order, kind, fetch.arrived, fetch.started, now);
}

void EngineCore::unfollow(LoadId load, Seconds now) {
  for (auto at = expected_.begin(); at != expected_.end();) {
    std::erase_if(at->second, [&](const Follower& follower) { return follower.load == load; });
    at = at->second.empty() ? expected_.erase(at) : std::next(at);
  }
  std::vector<FetchId> unwanted;
  for (auto& [id, fetch] : fetches_) {
    const std::size_t gone =
        std::erase_if(fetch.followers, [&](const Follower& follower) { return follower.load == load; });
    if (gone > 0 && fetch.followers.empty() && fetch.order == 0) unwanted.push_back(id);
  }
  for (const FetchId id : unwanted) call_off(id, now);
}

}  // namespace fulcrum::engine
