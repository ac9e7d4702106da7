// EngineCore: what tiers are still good for, and what is told about them.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/core.h"

namespace fulcrum::engine {
namespace {

// A tier that has jobs and has not moved for so long is not asked for more until it moves again.
constexpr Seconds kStallLimit{2};

}  // namespace

// Tells the decider what a tier can be used for, where that has changed.
void EngineCore::tell_health(TierId id, Seconds now) {
  TierState& own = tier(id);
  const Health health = own.status.health;
  const bool stuck = own.stalled || own.given_up;
  const bool readable = !stuck && (health == Health::healthy || health == Health::degraded);
  const bool writable = !stuck && health == Health::healthy;
  if (readable == own.readable && writable == own.writable) return;
  own.readable = readable;
  own.writable = writable;
  if (!readable) stop_loads_from(id);
  decider_.on_health(id, readable, writable, now);
  log(readable && writable ? LogLevel::info : LogLevel::warn,
      "tier " + own.name + (readable ? (writable ? ": in use again" : ": read only") : ": not in use") +
          (own.status.reason.empty() ? std::string(own.stalled ? ": it does not answer" : "")
                                     : ": " + own.status.reason));
}

// Looks for tiers that do not answer: a device that is stuck tells nobody.
void EngineCore::watch(Seconds now) {
  for (TierId id = 0; id < static_cast<TierId>(tiers_.size()); ++id) {
    TierState& own = tier(id);
    if (!own.port) continue;
    own.stalled = own.jobs > 0 && now - own.last_event > kStallLimit;
    // Memory that it does not let go, in such an amount, it never will.
    if (own.stalled && own.limbo > decider_.policy().engine.limbo) own.given_up = true;
    tell_health(id, now);
    own.drift.pass(now);  // one that gets no loads for its slowness is tried again
    tell_speed(id, now);
  }
  for (const Late& late : std::exchange(later_, {})) {
    decider_.on_outcome(
        {.order = late.order, .kind = late.kind, .blocks_done = late.blocks, .elapsed = late.elapsed}, now);
  }
}

// The rows of a job that nobody waits for stay with the tier until it lets go.
void EngineCore::count_limbo(Job& job) {
  if (!job.read || job.read->in_limbo) return;
  job.read->in_limbo = true;
  tier(job.tier).rows_asked -= job.read->blocks;
  tier(job.tier).limbo += parts_.row_bytes * static_cast<std::int64_t>(job.read->blocks);
}

// Whoever waits for blocks of a tier that cannot be read computes them instead, now and not at the deadline.
void EngineCore::stop_loads_from(TierId id) {
  for (auto& [number, record] : loads_) {
    const Plan& plan = record.state->plan();
    const std::uint32_t here = record.state->first() + record.state->arrived();
    for (std::size_t i = 0; i < plan.run_count; ++i) {
      const Run& run = plan.runs[i];
      if (run.tier == id && here < run.first + run.count) record.state->finish(LoadEnd::stopped);
    }
  }
}

// A load is over as planned: how long it took, beside what the profile says, corrects what is planned next.
// Of one that had no place to put its blocks for a while, that is the host's time as well as the tier's.
void EngineCore::observe(const Fetch& fetch, Seconds now) {
  if (fetch.into_dram || fetch.keys.empty() || fetch.starved) return;
  TierState& own = tier(fetch.source);
  const TierPolicy& policy = decider_.policy().tiers[static_cast<std::size_t>(fetch.source)];
  const TierProfile* profile = decider_.profile().tier(policy.profile);
  if (profile == nullptr) return;
  const Bytes bytes = parts_.row_bytes * static_cast<std::int64_t>(fetch.keys.size());
  const Seconds predicted = profile->transfer().time(bytes, static_cast<int>(fetch.beside));
  own.drift.observe(predicted, now - fetch.started, now);
  tell_speed(fetch.source, now);
}

void EngineCore::tell_speed(TierId id, Seconds now) {
  TierState& own = tier(id);
  if (own.drift.factor() == own.slowdown) return;
  own.slowdown = own.drift.factor();
  decider_.on_speed(id, own.slowdown, now);
}

EngineStatus EngineCore::status() const {
  EngineStatus status = counts_;
  status.indexed_blocks = decider_.indexed_blocks();
  status.free_rows = parts_.pool->free_rows();
  for (const TierState& own : tiers_) {
    const bool here = &own == &tiers_.front() && dram_ != nullptr;
    const TierStatus now = here ? dram_->status() : own.status;
    const TierTally& tally = here ? dram_->tally() : own.tally;
    EngineTier told;
    told.name = own.name;
    told.health = std::string(to_string(own.given_up  ? Health::dead
                                        : own.stalled ? Health::disabled
                                                      : now.health));
    told.reason = own.given_up  ? "the device keeps more memory than engine.limbo allows: restart the process"
                  : own.stalled ? "it has not answered for some time; it is used again once it does"
                                : now.reason;
    told.io = own.io;
    told.capacity = now.capacity;
    told.used = now.used;
    told.allocated = now.allocated;
    told.blocks = now.blocks;
    told.blocks_read = tally.blocks_read;
    told.blocks_written = tally.blocks_written;
    told.blocks_lost = tally.blocks_lost;
    told.corrupt = tally.corrupt;
    told.medium_read = tally.medium_read;
    told.medium_written = tally.medium_written;
    told.slowdown = own.slowdown;
    told.limbo = own.limbo;
    if (const std::string alarm = own.drift.alarm(); !alarm.empty()) {
      status.alarms.push_back("recalibrate tier " + own.name + ": " + alarm);
    }
    status.tiers.push_back(std::move(told));
  }
  if (mistakes_ > 0) {
    status.alarms.push_back(std::to_string(mistakes_) +
                            " requests could not be planned, the last one since " +
                            std::string(last_mistake_));
  }
  return status;
}

}  // namespace fulcrum::engine
