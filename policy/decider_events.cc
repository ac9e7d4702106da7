#include <algorithm>
#include <limits>

#include "base/check.h"
#include "policy/decider_impl.h"

namespace fulcrum {
namespace {

// A request that has not run so long after its lead is not expected any more. What is read ahead further in
// advance than kLeadMost only takes room from others.
constexpr Seconds kHintGrace{10};
constexpr Seconds kLeadMost{600};

double saved_per_byte(const Plan& plan, Bytes bytes) {
  const Alternative& chosen = plan.alternatives[plan.reason.chosen];
  return chosen.saved.value() / static_cast<double>(std::max(bytes, Bytes(1)).value());
}

}  // namespace

Plan Decider::Impl::plan(const Request& request, Seconds now) const {
  FULCRUM_CHECK(now >= now_, "time does not go backwards");
  return planner_.plan(request);
}

void Decider::Impl::on_arrival(const Request& request, Seconds now) {
  advance(now);
  if (!preloads_ || !(request.lead > Seconds(0))) return;
  if (const auto known = staged_.find(request.id); known != staged_.end()) {
    expect(known->second, request.lead);
    return;
  }
  const Plan plan = planner_.plan(request);
  if (plan.reason.choice != Choice::load) return;
  index_.trace(request.blocks, path_);
  residency_.touch(path_, now, false, 0);
  for (std::size_t i = 0; i < plan.run_count; ++i) {
    const Run& run = plan.runs[i];
    if (run.tier > 0 && run.order == 0) stage(request, run, plan.alternatives[plan.reason.chosen]);
  }
  tidy(request.blocks);
}

// Leading blocks of a run that may be read ahead: within the staging, and not on their way up already.
std::uint32_t Decider::Impl::stageable(std::span<const BlockKey> blocks, const Run& run) const {
  const std::int64_t room = (policy_.preload_staging - staged_bytes_).value() / costs_.block_bytes().value();
  std::uint32_t end = 0;
  index_.walk(blocks.first(run.first + run.count), [&](NodeId id, std::uint32_t matched) {
    if (end >= run.first && index_[id].in(0)) return false;
    end += matched;
    return true;
  });
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(room, 0, end > run.first ? end - run.first : 0));
}

// Reads a run ahead into the first tier, as far as the staging and the room there go.
void Decider::Impl::stage(const Request& request, const Run& run, const Alternative& chosen) {
  Run part = run;
  part.count = stageable(request.blocks, run);
  if (part.count == 0 || traffic_.full(run.tier)) return;
  const NodeId above = part.first > 0 ? node_ending(request.blocks, part.first) : kNoNode;
  const double worth = residency_.worth(node_ending(request.blocks, part.first + part.count), 0);
  if (above != kNoNode) residency_.hold(above, 0);
  part.count = residency_.make_room(0, part.count, worth);
  if (above != kNoNode) residency_.release(above, 0);
  if (part.count == 0) return;
  const double density = chosen.saved.value() / static_cast<double>(bytes(part.count).value());
  const OrderId order = begin_load(request, part, density, OrderKind::preload);
  Staged& own = staged_[request.id];
  own.orders.push_back(order);
  own.bytes += bytes(part.count);
  expect(own, request.lead);
  staged_bytes_ += bytes(part.count);
  pump(run.tier);
}

// The request runs now, or never: what was read ahead for it is no longer staged, and what has not begun
// will not begin, unless another request waits for it by now.
void Decider::Impl::unstage(RequestId request) {
  const auto found = staged_.find(request);
  if (found == staged_.end()) return;
  staged_bytes_ -= found->second.bytes;
  const std::vector<OrderId> orders = std::move(found->second.orders);
  staged_.erase(found);
  for (const OrderId order : orders) {
    Flight* flight = orders_.find(order);
    if (flight == nullptr || flight->issued) continue;
    std::erase(flight->waiters, request);
    if (flight->waiters.empty()) abandon(order);
  }
}

void Decider::Impl::expect(Staged& staged, Seconds lead) {
  staged.until = now_ + std::min(lead, kLeadMost) + kHintGrace;
  hints_end_ = std::min(hints_end_, staged.until);
}

// Hosts forget requests: what was read ahead for these must not keep others from being read ahead for good.
void Decider::Impl::expire_hints() {
  std::vector<RequestId> over;
  hints_end_ = Seconds(std::numeric_limits<double>::infinity());
  for (const auto& [request, staged] : staged_) {
    if (staged.until <= now_) {
      over.push_back(request);
    } else {
      hints_end_ = std::min(hints_end_, staged.until);
    }
  }
  for (const RequestId request : over) unstage(request);
}

void Decider::Impl::wait_for(RequestId request, OrderId order) {
  Flight& flight = *orders_.find(order);
  std::vector<RequestId>& waiters = flight.waiters;
  if (std::find(waiters.begin(), waiters.end(), request) == waiters.end()) waiters.push_back(request);
  if (!flight.issued) traffic_.hurry(flight.source, order);
}

Plan Decider::Impl::on_schedule(const Request& request, Seconds now) {
  advance(now);
  unstage(request.id);
  Plan plan = planner_.plan(request);
  if (valuation_->placement() == Placement::nowhere) return plan;
  index_.trace(request.blocks, path_);
  residency_.touch(path_, now, true, 0);
  Bytes all{};
  for (std::size_t i = 0; i < plan.run_count; ++i) all += bytes(plan.runs[i].count);
  for (std::size_t i = 0; i < plan.run_count; ++i) {
    Run& run = plan.runs[i];
    if (run.order == 0) {
      run.order = begin_load(request, run, saved_per_byte(plan, all), OrderKind::load);
      pump(run.tier);
    } else {
      wait_for(request.id, run.order);
    }
  }
  return plan;
}

void Decider::Impl::on_computed(std::span<const BlockKey> blocks, Seconds now) {
  advance(now);
  const Placement placement = valuation_->placement();
  if (placement == Placement::nowhere || blocks.empty()) return;
  const std::uint32_t known = index_.trace(blocks, path_);
  if (known < blocks.size()) {
    if (index_.find_head(blocks[known]) != kNoNode)
      return tidy(blocks);  // known behind other blocks: no chain
    const NodeId parent = path_.empty() ? kRoot : path_.back();
    path_.push_back(index_.append(parent, blocks.subspan(known)));
  }
  residency_.touch(path_, now, false, static_cast<std::uint32_t>(blocks.size()));
  const TierId last =
      placement == Placement::first_tier ? std::min<TierId>(costs_.tiers(), 1) : costs_.tiers();
  for (TierId tier = 0; tier < last; ++tier) admit(blocks, tier);
  tidy(blocks);
  residency_.trim();
  on_time(now);
}

void Decider::Impl::on_cancel(RequestId request, Seconds now) {
  advance(now);
  unstage(request);
  std::vector<OrderId> unwanted;
  for (auto& [id, flight] : orders_.flights()) {
    const bool read = flight.kind == OrderKind::load || flight.kind == OrderKind::preload;
    if (!read || flight.called_off) continue;
    if (std::erase(flight.waiters, request) > 0 && flight.waiters.empty()) unwanted.push_back(id);
  }
  for (const OrderId id : unwanted) abandon(id);
}

void Decider::Impl::on_time(Seconds now) {
  advance(now);
  if (valuation_->placement() != Placement::first_tier || parting_) return;
  for (TierId tier = 0; tier + 1 < costs_.tiers(); ++tier) write_down(tier);
}

}  // namespace fulcrum
