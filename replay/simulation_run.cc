#include "replay/simulation_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "replay/router.h"

namespace fulcrum::replay {
namespace {

std::vector<const TierProfile*> tier_profiles(const Decider& decider) {
  std::vector<const TierProfile*> profiles;
  for (const TierPolicy& tier : decider.policy().tiers) {
    const TierProfile* profile = decider.profile().tier(tier.profile.empty() ? tier.name : tier.profile);
    FULCRUM_CHECK(profile != nullptr, "the decider accepted a policy whose tier has no profile");
    profiles.push_back(profile);
  }
  return profiles;
}

// One draw a request, whatever the policy does: policies are compared on the same luck.
std::vector<double> draw_slowness(std::size_t requests, const SimulationOptions& options) {
  Random random = Random(options.seed).split("gpu");
  std::vector<double> slowness(requests);
  for (double& factor : slowness) {
    factor = options.gpu_scale * std::exp(options.gpu_noise * random.normal()) / (1 - options.decode_share);
  }
  return slowness;
}

std::size_t cache_blocks(const SimulationOptions& options, const Trace& trace) {
  return static_cast<std::size_t>(options.gpu_cache.value() / trace.block_tokens.value());
}

}  // namespace

SimulationRun::SimulationRun(const Trace& trace, std::vector<Decider> deciders,
                             const SimulationOptions& options, const DecisionSink& sink)
    : trace_(trace),
      options_(options),
      sink_(sink),
      law_(deciders.front().profile().prefill->cost.law),
      caches_(std::make_move_iterator(deciders.begin()), std::make_move_iterator(deciders.end())),
      replicas_(static_cast<std::size_t>(options.replicas), Replica(cache_blocks(options, trace))),
      mover_(tier_profiles(caches_.front().decider), options.truth, options.seed),
      forecasts_(mover_.devices()),
      records_(trace.requests.size()),
      estimates_(trace.requests.size()),
      slowness_(draw_slowness(trace.requests.size(), options)) {}

SimulationResult SimulationRun::run() {
  const int first = options_.in_flight > 0 ? options_.in_flight : 1;
  for (int i = 0; i < first; ++i) release_next();
  while (!events_.empty()) {
    const Event event = events_.pop();
    switch (event.kind) {
      case EventKind::arrival:
        arrive(event.index);
        break;
      case EventKind::prefill_done:
        finish_prefill(event.index);
        break;
      case EventKind::ready:
        dispatch(event.index);
        break;
      case EventKind::stop_loss:
        stop_loss(event.index);
        break;
      case EventKind::device:
        if (event.token == mover_.generation(event.index)) move_device(event.index);
        break;
    }
    forecast();
  }
  return result();
}

void SimulationRun::release_next() {
  if (released_ == trace_.requests.size()) return;
  const std::uint32_t index = released_++;
  const Seconds due = std::max(trace_.requests[index].arrival, events_.now());
  events_.push(due, EventKind::arrival, index);
}

void SimulationRun::arrive(std::uint32_t index) {
  const Seconds now = events_.now();
  if (options_.in_flight == 0) release_next();
  RequestRecord& record = records_[index];
  const TraceRequest& traced = trace_.requests[index];
  record.replica = static_cast<std::uint32_t>(route(options_.router, trace_, traced, index, replicas_, now));
  record.arrival = now;
  record.prompt = traced.prompt;

  Replica& replica = replicas_[record.replica];
  record.resident = tokens_of(index, replica.cache.leading(chain(index)));
  const std::uint32_t cache = cache_of(record.replica);
  caches_[cache].decider.on_arrival(request(index, replica.backlog(now)), now);
  carry_out_orders(cache);

  estimates_[index] = law_.time(record.prompt - record.resident, record.resident);
  replica.queued += estimates_[index];
  replica.waiting.push_back(index);
  dispatch(record.replica);
}

void SimulationRun::dispatch(std::size_t at) {
  Replica& replica = replicas_[at];
  while (!replica.busy) {
    if (!replica.ready.empty()) {
      const std::uint32_t index = *replica.ready.begin();
      replica.ready.erase(replica.ready.begin());
      start_prefill(index);
    } else if (!replica.waiting.empty() && replica.loading < options_.loads_max) {
      const std::uint32_t index = replica.waiting.front();
      replica.waiting.pop_front();
      plan(index);
    } else {
      return;
    }
  }
}

void SimulationRun::plan(std::uint32_t index) {
  const Seconds now = events_.now();
  RequestRecord& record = records_[index];
  Replica& replica = replicas_[record.replica];
  const std::uint32_t at = cache_of(record.replica);
  Cache& cache = caches_[at];
  record.scheduled = now;
  record.resident = tokens_of(index, replica.cache.leading(chain(index)));
  const Request asked = request(index, Seconds(0));
  const Plan plan = cache.decider.on_schedule(asked, now);
  if (sink_) sink_(asked, plan, now);
  record.choice = plan.reason.choice;

  const std::size_t block = static_cast<std::size_t>(trace_.block_tokens.value());
  const std::size_t from = static_cast<std::size_t>(record.resident.value()) / block;
  const std::size_t to = (static_cast<std::size_t>(plan.load_end.value()) + block - 1) / block;
  if (plan.to_load() <= Tokens(0) || to <= from) {
    carry_out_orders(at);
    replica.ready.insert(index);
    return;
  }
  cache.waits.expect(index, chain(index).subspan(from, to - from));
  ++replica.loading;
  carry_out_orders(at);
  if (std::isfinite(plan.stop_loss.value()) && plan.stop_loss > Seconds(0)) {
    events_.push(now + plan.stop_loss, EventKind::stop_loss, index);
  }
}

void SimulationRun::end_wait(std::uint32_t index) {
  RequestRecord& record = records_[index];
  const std::size_t arrived = caches_[cache_of(record.replica)].waits.finish(index);
  const std::size_t before = static_cast<std::size_t>(record.resident / trace_.block_tokens);
  record.loaded = tokens_of(index, before + arrived) - record.resident;
  record.exposed = events_.now() - record.scheduled;
  Replica& replica = replicas_[record.replica];
  --replica.loading;
  replica.ready.insert(index);
  events_.push(events_.now(), EventKind::ready, record.replica);
}

void SimulationRun::stop_loss(std::uint32_t index) {
  const std::uint32_t at = cache_of(records_[index].replica);
  Cache& cache = caches_[at];
  if (!cache.waits.waits(index)) return;
  const Seconds now = events_.now();
  mover_.each_load(
      at,
      [&](const Order& order, std::uint32_t arrived) {
        cache.waits.credit(index, std::span(order.keys).first(arrived));
      },
      now);
  records_[index].gave_up = true;
  end_wait(index);
  cache.decider.on_cancel(index + RequestId{1}, now);
  carry_out_orders(at);
}

void SimulationRun::start_prefill(std::uint32_t index) {
  const Seconds now = events_.now();
  RequestRecord& record = records_[index];
  Replica& replica = replicas_[record.replica];
  record.compute = prefill(index, record.resident + record.loaded);
  record.compute_all = prefill(index, record.resident);
  replica.busy = true;
  replica.running = index;
  replica.free_at = now + record.compute;
  replica.queued = std::max(Seconds(0), replica.queued - estimates_[index]);
  replica.utilisation.set(true, now);
  gpu_ += record.compute * (1 - options_.decode_share);
  events_.push(replica.free_at, EventKind::prefill_done, record.replica);
}

void SimulationRun::finish_prefill(std::size_t at) {
  const Seconds now = events_.now();
  Replica& replica = replicas_[at];
  const std::uint32_t index = replica.running;
  records_[index].first_token = now;
  replica.busy = false;
  replica.utilisation.set(false, now);
  replica.cache.insert(chain(index));
  const std::uint32_t cache = cache_of(at);
  caches_[cache].decider.on_computed(chain(index), now);
  carry_out_orders(cache);
  if (options_.in_flight > 0) release_next();
  dispatch(at);
}

std::span<const BlockKey> SimulationRun::chain(std::uint32_t index) const {
  const TraceRequest& traced = trace_.requests[index];
  const auto keys = trace_.blocks(traced);
  if (options_.partial_blocks) return keys;
  // The last token is always computed: its logits give the first output token.
  const auto whole = static_cast<std::size_t>(
      std::max<std::int64_t>(0, (traced.prompt.value() - 1) / trace_.block_tokens.value()));
  return keys.first(std::min(keys.size(), whole));
}

Request SimulationRun::request(std::uint32_t index, Seconds lead) const {
  const RequestRecord& record = records_[index];
  Request asked;
  asked.id = index + RequestId{1};
  asked.prompt = record.prompt;
  asked.resident = record.resident;
  asked.blocks = chain(index);
  asked.lead = lead;
  asked.gpu_load = replicas_[record.replica].utilisation.value(events_.now());
  asked.session = trace_.requests[index].session;
  return asked;
}

Seconds SimulationRun::prefill(std::uint32_t index, Tokens cached) const {
  return law_.time(records_[index].prompt - cached, cached) * slowness_[index];
}

Tokens SimulationRun::tokens_of(std::uint32_t index, std::size_t blocks) const {
  const Tokens whole = trace_.block_tokens * static_cast<std::int64_t>(blocks);
  return std::min(whole, trace_.requests[index].prompt);
}

std::uint32_t SimulationRun::cache_of(std::size_t replica) const {
  return caches_.size() == 1 ? 0 : static_cast<std::uint32_t>(replica);
}

SimulationResult SimulationRun::result() const {
  SimulationResult result;
  result.requests = records_;
  result.gpu = gpu_;
  for (const RequestRecord& record : records_) {
    FULCRUM_CHECK(record.first_token >= record.arrival, "every request is served, and after it arrived");
    result.end = std::max(result.end, record.first_token);
  }
  const auto& tiers = caches_.front().decider.policy().tiers;
  for (std::size_t tier = 0; tier < mover_.devices(); ++tier) {
    const TierDevice& device = mover_.device(tier);
    TierTotals totals{tiers[tier].name,
                      device.bytes_read(),
                      mover_.bytes_loaded(tier),
                      device.bytes_written(),
                      device.most_reads_at_once(),
                      0,
                      0};
    for (const Cache& cache : caches_) {
      const TierCounters counters = cache.decider.counters(static_cast<TierId>(tier));
      totals.evicted_blocks += counters.evicted_blocks;
      totals.refused_blocks += counters.refused_blocks;
    }
    result.tiers.push_back(std::move(totals));
  }
  return result;
}

}  // namespace fulcrum::replay
