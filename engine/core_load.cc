// EngineCore: what the host asks for, and loads from the decision to their end. Stores are in core_store.cc.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "engine/core.h"
#include "engine/host_mistakes.h"
#include "policy/decision_log.h"

namespace fulcrum::engine {
namespace {

/// The blocks that may be loaded: no more than the host has rows for.
Request within_rows(const Request& request, const LoadOptions& options, Tokens block_tokens) {
  Request within = request;
  if (options.into.empty()) return within;
  const Tokens resident = std::min(request.resident, request.prompt);
  const auto first = static_cast<std::size_t>(resident.value() / block_tokens.value());
  within.blocks = request.blocks.first(std::min(request.blocks.size(), first + options.into.size()));
  return within;
}

}  // namespace

Plan EngineCore::plan(const Request& request, Seconds now) const {
  if (closing_) return plan_of_nothing(request);
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
  if (closing_) return load_nothing(plan_of_nothing(request), std::move(options), LoadEnd::cancelled);
  const PolicyConfig& policy = decider_.policy();
  const Request within = within_rows(request, options, policy.block_tokens);
  const Plan plan = decider_.on_schedule(within, now_);
  if (parts_.on_decision) parts_.on_decision(to_line(record_of(within, plan, policy, now_)));
  if (plan.run_count == 0) return load_nothing(plan, std::move(options), LoadEnd::complete);
  ++counts_.loads;
  const Run& last = plan.runs[plan.run_count - 1U];
  const std::uint32_t first = plan.runs[0].first;
  const std::uint32_t count = last.first + last.count - first;
  Seconds deadline = std::min(policy.engine.deadline, plan.stop_loss);
  if (options.deadline > Seconds(0)) deadline = std::min(deadline, options.deadline);
  const LoadId id = next_++;
  LoadRecord record;
  record.state = std::make_shared<LoadState>(id, plan, first, count, std::move(options),
                                             static_cast<std::size_t>(parts_.row_bytes.value()), hooks_);
  record.request = within.id;
  record.deadline = now_ + deadline;
  record.keys.assign(within.blocks.begin() + first, within.blocks.begin() + first + count);
  record.parent = first == 0 ? parts_.root : within.blocks[first - 1];
  std::shared_ptr<LoadState> state = record.state;
  loads_.emplace(id, std::move(record));
  for (std::size_t i = 0; i < plan.run_count; ++i) {
    const Run& run = plan.runs[i];
    follow(run.order, {id, run.first, run.first + run.count}, now_);
  }
  settle(now_);
  return state;
}

std::shared_ptr<LoadState> EngineCore::load_nothing(const Plan& plan, LoadOptions options, LoadEnd end) {
  ++counts_.loads;
  ++(end == LoadEnd::complete ? counts_.loads_complete : counts_.loads_stopped);
  auto state = std::make_shared<LoadState>(next_++, plan, 0, 0, std::move(options),
                                           static_cast<std::size_t>(parts_.row_bytes.value()), hooks_);
  state->finish(end);
  return state;
}

void EngineCore::note_mistake(std::string_view what) {
  if (mistakes_++ == 0) log(LogLevel::warn, "a request that cannot be planned: " + std::string(what));
  last_mistake_ = what;
}

std::shared_ptr<LoadState> EngineCore::load_mistaken(const Request& request, LoadOptions options,
                                                     std::string_view what) {
  note_mistake(what);
  return load_nothing(plan_of_nothing(request), std::move(options),
                      closing_ ? LoadEnd::cancelled : LoadEnd::complete);
}

void EngineCore::cancel(RequestId request, Seconds now) {
  now_ = std::max(now, now_);
  if (closing_) return;  // all loads have been cancelled
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
    const auto of_request = [&](const auto& other) { return other.second.request == request; };
    if (!whole && std::ranges::none_of(loads_, of_request)) decider_.on_cancel(request, now);
  }
}

}  // namespace fulcrum::engine
