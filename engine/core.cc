#include "engine/core.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "policy/decision_log.h"

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

void EngineCore::attach(TierId id, std::unique_ptr<TierPort> port, std::string io, TierStatus status) {
  tier(id).status = std::move(status);
  tier(id).port = std::move(port);
  tier(id).io = std::move(io);
}

void EngineCore::restore(TierId id, std::span<const StoredRun> found, Seconds now) {
  now_ = std::max(now, now_);
  std::vector<FoundRun> runs;
  runs.reserve(found.size());
  for (const StoredRun& run : found) runs.push_back({run.parent, run.first, run.keys, run.age});
  std::vector<BlockKey> unwanted;
  for (const std::size_t refused : decider_.restore(id, runs, now_)) {
    unwanted.insert(unwanted.end(), found[refused].keys.begin(), found[refused].keys.end());
  }
  if (!unwanted.empty()) tier(id).port->erase(std::move(unwanted));
  carry_out(now_);
}

void EngineCore::restore_budget(TierId id, Bytes written_today) {
  const TierPolicy& policy = decider_.policy().tiers[static_cast<std::size_t>(id)];
  const bool limited = policy.write_limit || policy.write_limit_per_day;  // by the operator
  if (!limited || written_today == Bytes(0)) return;
  WriteBudgetState state = decider_.write_budget(id);
  // How much of the operator's burst was used before is not known. The device's own pace starts anew.
  if (policy.write_limit) state.left = 0;
  state.day_left -= static_cast<double>(written_today.value());
  decider_.restore_write_budget(id, state, Seconds(0));
}

JobId EngineCore::begin_job(TierId id, Job job, Seconds now) {
  TierState& own = tier(id);
  if (own.jobs++ == 0) own.last_event = now;
  job.tier = id;
  job.given = now;
  const JobId number = next_++;
  jobs_.emplace(number, std::move(job));
  return number;
}

Plan EngineCore::plan(const Request& request, Seconds now) const {
  return decider_.plan(request, std::max(now, now_));
}

void EngineCore::hint(const Request& request, Seconds now) {
  now_ = active_ = std::max(now, now_);
  if (closing_) return;
  decider_.on_arrival(request, now_);
  carry_out(now_);
}

std::shared_ptr<LoadState> EngineCore::load(const Request& request, LoadOptions options, Seconds now) {
  now_ = active_ = std::max(now, now_);
  ++counts_.loads;
  const Plan plan = closing_ ? Plan{} : decider_.on_schedule(request, now_);
  if (parts_.on_decision && !closing_) {
    parts_.on_decision(to_line(record_of(request, plan, decider_.policy(), now_)));
  }
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  if (plan.run_count > 0) {
    first = plan.runs[0].first;
    const Run& last = plan.runs[plan.run_count - 1U];
    count = last.first + last.count - first;
  }
  Seconds deadline = decider_.policy().engine.deadline;
  if (options.deadline > Seconds(0)) deadline = std::min(deadline, options.deadline);
  deadline = std::min(deadline, plan.stop_loss);
  if (!options.into.empty()) count = std::min(count, static_cast<std::uint32_t>(options.into.size()));
  const LoadId id = next_++;
  auto state = std::make_shared<LoadState>(id, plan, first, count, std::move(options),
                                           static_cast<std::size_t>(parts_.row_bytes.value()), hooks_);
  if (count == 0) {
    ++counts_.loads_complete;
    state->finish(LoadEnd::complete);
    return state;
  }
  LoadRecord record;
  record.state = state;
  record.request = request.id;
  record.deadline = now_ + deadline;
  record.keys.assign(request.blocks.begin() + first, request.blocks.begin() + first + count);
  record.parent = first == 0 ? parts_.root : request.blocks[first - 1];
  loads_.emplace(id, std::move(record));
  for (std::size_t i = 0; i < plan.run_count; ++i) {
    const Run& run = plan.runs[i];
    const std::uint32_t end = std::min(run.first + run.count, first + count);
    if (run.first < end) follow(run.order, {id, run.first, end}, now_);
  }
  settle(now_);
  return state;
}

void EngineCore::cancel(RequestId request, Seconds now) {
  now_ = std::max(now, now_);
  for (auto& [id, record] : loads_) {
    if (record.request == request) record.state->finish(LoadEnd::cancelled);
  }
  decider_.on_cancel(request, now_);
  settle(now_);
}

void EngineCore::released(Seconds now) {
  now_ = std::max(now, now_);
  settle(now_);
}

void EngineCore::dropped(LoadId load, Seconds now) {
  now_ = std::max(now, now_);
  if (const auto found = loads_.find(load); found != loads_.end()) {
    found->second.state->finish(LoadEnd::cancelled);
  }
  settle(now_);
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
      }
      break;
  }
}

void EngineCore::answer(OrderId order, OutcomeKind kind, std::uint32_t blocks, Seconds started, Seconds now) {
  if (order == 0) return;
  decider_.on_outcome({.order = order, .kind = kind, .blocks_done = blocks, .elapsed = now - started}, now);
}

std::uint64_t EngineCore::begin_copy(CopyRecord record, std::vector<RowCopy> rows) {
  const std::uint64_t id = next_++;
  auto done = [call = parts_.on_copied, id, state = record.state,
               blocks = static_cast<std::uint32_t>(record.leases.size())] {
    if (state) state->copied(blocks);
    call(id);
  };
  copies_.emplace(id, std::move(record));
  parts_.copier->copy(std::move(rows), static_cast<std::size_t>(parts_.row_bytes.value()), std::move(done));
  return id;
}

// Copies what has arrived for a load into the host's rows, a part at a time.
void EngineCore::copy_out(LoadRecord& record) {
  if (!record.state->copies()) return;
  std::uint32_t begin = 0;
  CopyRecord copy;
  copy.leases = record.state->take_to_copy(begin);
  if (copy.leases.empty()) return;
  copy.load = record.state->id();
  copy.state = record.state;
  std::vector<RowCopy> rows;
  for (std::uint32_t i = 0; i < copy.leases.size(); ++i) {
    rows.push_back({record.state->into(begin + i), copy.leases[i]->data()});
  }
  begin_copy(std::move(copy), std::move(rows));
}

void EngineCore::copied(std::uint64_t id, Seconds now) {
  now_ = std::max(now, now_);
  const auto found = copies_.find(id);
  FULCRUM_CHECK(found != copies_.end(), "a copy ends once");
  CopyRecord copy = std::move(found->second);
  copies_.erase(found);
  if (!copy.state) taken_in(copy, now_);
  copy = {};  // its rows are free for those who wait for some
  settle(now_);
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
}

// Forgets loads that have ended, and gives up what only they waited for.
void EngineCore::reap(Seconds now) {
  for (auto at = loads_.begin(); at != loads_.end();) {
    LoadRecord& record = at->second;
    if (!record.state->ended()) {
      ++at;
      continue;
    }
    const LoadId id = at->first;
    const RequestId request = record.request;
    const bool whole = record.state->arrived() == record.state->count();
    ++(whole ? counts_.loads_complete : counts_.loads_stopped);
    at = loads_.erase(at);
    unfollow(id, now);
    if (!whole) decider_.on_cancel(request, now);
  }
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

void EngineCore::begin_close(Seconds now) {
  now_ = std::max(now, now_);
  closing_ = true;
  for (auto& [id, record] : loads_) record.state->finish(LoadEnd::cancelled);
  settle(now_);
}

bool EngineCore::quiet() const {
  return loads_.empty() && jobs_.empty() && copies_.empty() && stores_.empty();
}

bool EngineCore::close_ports(Seconds limit) {
  bool clean = true;
  for (TierState& own : tiers_) {
    if (own.port && !own.port->close(limit)) clean = false;
  }
  return clean;
}

}  // namespace fulcrum::engine
