// EngineCore: orders to those who carry them out, what happened, and the passing of time.
#include "engine/core.h"

#include <algorithm>
#include <utility>

namespace fulcrum::engine {
namespace {

// How often deferred work moves on: while something happens, and while nothing does.
constexpr Seconds kTick{0.02};
constexpr Seconds kIdleTick{0.5};
constexpr Seconds kIdleAfter{2};
}  // namespace

EngineCore::EngineCore(Decider decider, CoreParts parts)
    : decider_(std::move(decider)),
      parts_(std::move(parts)),
      dram_(std::move(parts_.dram)),
      staging_(parts_.pool, parts_.staging_rows) {
  auto hooks = std::make_shared<LoadHooks>();
  hooks->released = [call = parts_.on_released](LoadId load) { call(load); };
  hooks->dropped = [call = parts_.on_dropped](LoadId load) { call(load); };
  hooks->on_engine = parts_.on_engine;
  hooks_ = std::move(hooks);
  for (const TierPolicy& policy : decider_.policy().tiers) {
    tiers_.emplace_back();
    tiers_.back().name = policy.name;
  }
  if (dram_) {
    tiers_.front().status = dram_->status();
    tiers_.front().io = parts_.pool->description();
  }
}

EngineCore::~EngineCore() = default;

JobId EngineCore::begin_job(TierId id, Job job, Seconds now) {
  TierState& own = tier(id);
  if (own.jobs++ == 0) own.last_event = now;
  job.tier = id;
  job.given = now;
  const JobId number = next_++;
  jobs_.emplace(number, std::move(job));
  return number;
}

// Hands all that the decider has ordered to those who do it. Answers may bring further orders.
void EngineCore::carry_out(Seconds now) {
  for (std::vector<Order> orders = decider_.take_orders(); !orders.empty(); orders = decider_.take_orders()) {
    for (Order& order : orders) carry_out(order, now);
  }
}

void EngineCore::carry_out(Order& order, Seconds now) {
  switch (order.kind) {
    case OrderKind::load:
    case OrderKind::preload:
      if (memory(order.source)) {
        serve_from_memory(order, now);
      } else {
        Fetch fetch;
        fetch.order = order.id;
        fetch.source = order.source;
        fetch.into_dram = order.kind == OrderKind::preload;
        fetch.parent = order.first == 0 ? parts_.root : order.parent;
        fetch.first = order.first;
        fetch.worth = order.worth;
        fetch.keys = std::move(order.keys);
        begin_fetch(std::move(fetch), now);
      }
      break;
    case OrderKind::write:
      take_in(order, now);
      break;
    case OrderKind::demote:
      demote(order, now);
      break;
    case OrderKind::erase:
      if (memory(order.source)) {
        dram_->erase(order.keys);
      } else {
        tier(order.source).port->erase(std::move(order.keys));
      }
      break;
    case OrderKind::cancel:
      if (const auto found = fetch_of_.find(order.id); found != fetch_of_.end()) {
        call_off(found->second, now);
      } else if (const auto held_back = expected_.extract(order.id)) {
        stop(held_back.mapped());
      }
      break;
  }
}

void EngineCore::answer(OrderId order, OutcomeKind kind, std::uint32_t blocks, Seconds started, Seconds now) {
  if (order == 0) return;
  decider_.on_outcome({.order = order, .kind = kind, .blocks_done = blocks, .elapsed = now - started}, now);
}

// What follows from whatever happened: orders, rows for those who wait for them, copies, the end of loads.
void EngineCore::settle(Seconds now) {
  carry_out(now);
  for (std::deque<FetchId> waiting = std::exchange(starved_, {}); !waiting.empty(); waiting.pop_front()) {
    const auto found = fetches_.find(waiting.front());
    if (found == fetches_.end()) continue;
    found->second.queued = false;
    pump(found->first, now);
  }
  for (auto& [id, record] : loads_) copy_out(record);
  reap(now);
  carry_out(now);
  part(now);
}

void EngineCore::news(TierId id, PortNews news, Seconds now) {
  now_ = std::max(now, now_);
  TierState& own = tier(id);
  own.status = std::move(news.status);
  own.tally = news.tally;
  for (const TierEvent& event : news.events) {
    const auto found = jobs_.find(event.id);
    if (found == jobs_.end()) continue;
    own.last_event = now_;
    own.stalled = false;
    Job& job = found->second;
    if (job.read) {
      on_read(job, event, now_);
    } else if (job.relay) {
      on_relay(job, event, now_);
    } else {
      on_write(job, event, now_);
    }
    if (event.ended) {
      --own.jobs;
      jobs_.erase(event.id);
    }
  }
  if (!news.lost.empty()) decider_.on_lost(id, news.lost, now_);
  tell_health(id, now_);
  settle(now_);
}

void EngineCore::step(Seconds now) {
  now_ = std::max(now, now_);
  if (!unplaced_.empty()) erase_unplaced();
  for (auto& [id, record] : loads_) {
    if (record.deadline <= now_) record.state->finish(LoadEnd::stopped);
  }
  if (now_ >= next_tick_) {
    next_tick_ = now_ + (now_ - active_ > kIdleAfter && jobs_.empty() ? kIdleTick : kTick);
    watch(now_);
    decider_.on_time(now_);
  }
  settle(now_);
}

Seconds EngineCore::next_step() const {
  Seconds next = next_tick_;
  for (const auto& [id, record] : loads_) next = std::min(next, record.deadline);
  return next;
}

bool EngineCore::close_ports(Seconds limit) {
  bool clean = true;
  for (TierState& own : tiers_) {
    if (own.port && !own.port->close(limit)) clean = false;
  }
  return clean;
}

}  // namespace fulcrum::engine
