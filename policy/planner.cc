#include "policy/planner.h"

#include <algorithm>
#include <array>
#include <bit>

namespace fulcrum {

// When everything up to a point of the chain would have arrived, run by run.
class Planner::Clock {
 public:
  Clock(const Planner& planner, bool slow) : planner_(planner), slow_(slow) {}

  /// Time if the load ended after `blocks` blocks of the next run.
  [[nodiscard]] Seconds until(const Run& run, std::uint32_t blocks) const {
    if (run.order != 0) return std::max(arrived_, shared(run, blocks));
    const Bytes bytes = bytes_of(run.tier) + own(blocks) + planner_.costs_.fixed_bytes();
    return std::max(arrived_, planner_.traffic_.finish(run.tier, bytes, law(run.tier)));
  }
  /// Takes the whole run in.
  void pass(const Run& run) {
    arrived_ = until(run, run.count);
    if (run.order == 0) bytes_[index_of(run.tier)] += own(run.count);
  }

 private:
  [[nodiscard]] Bytes own(std::uint32_t blocks) const {
    return planner_.costs_.block_bytes() * static_cast<std::int64_t>(blocks);
  }
  [[nodiscard]] Bytes bytes_of(TierId tier) const { return bytes_[index_of(tier)]; }
  [[nodiscard]] const TransferLaw& law(TierId tier) const {
    return slow_ ? planner_.costs_.slow(tier) : planner_.costs_.typical(tier);
  }
  /// Another order brings the run: what is left of that is paid, and the way on from where a preload ends.
  [[nodiscard]] Seconds shared(const Run& run, std::uint32_t blocks) const {
    const Seconds left = planner_.traffic_.residual(run.tier, run.order, law(run.tier));
    const Flight* flight = planner_.orders_.find(run.order);
    if (flight == nullptr || flight->kind != OrderKind::preload) return left;
    return left + law(flight->target).time(own(blocks));
  }

  const Planner& planner_;
  bool slow_;
  std::array<Bytes, kMaxTiers> bytes_{};
  Seconds arrived_{};
};

Plan Planner::plan(const Request& request) const {
  Plan plan;
  plan.request = request.id;
  plan.resident = std::min(request.resident, request.prompt);
  plan.load_end = plan.resident;
  plan.prompt = request.prompt;
  plan.reason.lead = request.lead;
  plan.reason.gpu_price = fixed_gpu_price_ > 0 ? fixed_gpu_price_ : gpu_price(request.gpu_load);
  find_runs(request, plan);
  list_alternatives(request, plan);
  decide(request, plan);
  return plan;
}

bool Planner::extend(Plan& plan, const PrefixNode& node, std::uint32_t first, std::uint32_t end) const {
  const auto resident = static_cast<TierMask>(node.resident & traffic_.open());
  if (resident == 0) return false;
  const Flight* flight = node.loading != 0 ? orders_.find(node.loading) : nullptr;
  const OrderId order = flight != nullptr ? node.loading : 0;
  const TierId tier = flight != nullptr ? flight->source : static_cast<TierId>(std::countr_zero(resident));
  if (plan.run_count > 0) {
    Run& last = plan.runs[plan.run_count - 1U];
    if (last.tier == tier && last.order == order) {
      last.count += end - first;
      return true;
    }
  }
  if (plan.run_count == kMaxRuns || (order == 0 && traffic_.full(tier))) return false;
  plan.runs[plan.run_count++] = Run{tier, first, end - first, order};
  return true;
}

void Planner::find_runs(const Request& request, Plan& plan) const {
  const auto begin = static_cast<std::uint32_t>(plan.resident.value() / costs_.block_tokens().value());
  std::uint32_t at = 0;
  index_.walk(request.blocks, [&](NodeId id, std::uint32_t matched) {
    const std::uint32_t first = std::max(at, begin);
    at += matched;
    return at <= begin || extend(plan, index_[id], first, at);
  });
}

void Planner::list_alternatives(const Request& request, Plan& plan) const {
  const Seconds lead = request.lead;
  Clock slow(*this, true);
  Clock typical(*this, false);
  const auto add = [&](std::uint32_t end_block, TierId tier, Seconds load, Seconds usual) {
    Alternative& next = plan.alternatives[plan.alternative_count++];
    next.load_end = std::min(costs_.block_tokens() * static_cast<std::int64_t>(end_block), plan.prompt);
    next.load = load;
    next.tier = tier;
    next.saved = costs_.saved(plan.resident, next.load_end);
    const Tokens fresh =
        std::max(plan.prompt - next.load_end, Tokens(1));  // the last token is always computed
    next.ttft = std::max(usual - lead, Seconds(0)) + costs_.prefill().time(fresh, plan.prompt - fresh);
  };
  add(0, kNowhere, Seconds(0), Seconds(0));
  plan.alternatives[0].load_end = plan.resident;
  plan.alternatives[0].saved = Seconds(0);
  const Tokens all = std::max(plan.prompt - plan.resident, Tokens(1));
  plan.alternatives[0].ttft = costs_.prefill().time(all, plan.prompt - all);

  bool hidden = lead > Seconds(0);
  for (std::size_t i = 0; i < plan.run_count; ++i) {
    const Run& run = plan.runs[i];
    if (hidden && slow.until(run, run.count) > lead) {
      hidden = false;
      std::uint32_t least = 0;  // most blocks that arrive within the lead
      for (std::uint32_t most = run.count; least < most;) {
        const std::uint32_t middle = least + (most - least + 1) / 2;
        if (slow.until(run, middle) <= lead) {
          least = middle;
        } else {
          most = middle - 1;
        }
      }
      if (least > 0) add(run.first + least, run.tier, slow.until(run, least), typical.until(run, least));
    }
    add(run.first + run.count, run.tier, slow.until(run, run.count), typical.until(run, run.count));
    slow.pass(run);
    typical.pass(run);
  }
}

void Planner::decide(const Request& request, Plan& plan) const {
  const std::span alternatives(plan.alternatives.data(), plan.alternative_count);
  Reason& reason = plan.reason;
  reason.chosen = static_cast<std::uint8_t>(valuation_.choose(alternatives, request.lead, reason.gpu_price));
  std::size_t shown = reason.chosen;
  if (reason.chosen > 0) {
    reason.choice = Choice::load;
  } else if (plan.run_count > 0) {
    reason.choice = Choice::recompute;
    const auto gain = [&](std::size_t i) {
      return alternatives[i].saved * reason.gpu_price - alternatives[i].exposed(request.lead);
    };
    shown = 1;
    for (std::size_t i = 2; i < alternatives.size(); ++i) {
      if (gain(i) > gain(shown)) shown = i;
    }
  } else {
    reason.choice = plan.resident > Tokens(0) ? Choice::resident : Choice::miss;
    plan.stop_loss = Seconds(0);
    return;
  }
  reason.saved = alternatives[shown].saved * reason.gpu_price;
  reason.paid = alternatives[shown].exposed(request.lead) + margin_;

  const Alternative& chosen = alternatives[reason.chosen];
  plan.load_end = chosen.load_end;
  plan.stop_loss = reason.chosen > 0 ? request.lead + valuation_.patience(chosen.saved) : Seconds(0);
  const std::int64_t block = costs_.block_tokens().value();
  const auto end = static_cast<std::uint32_t>((plan.load_end.value() + block - 1) / block);
  std::uint8_t kept = 0;
  for (std::size_t i = 0; i < plan.run_count && reason.chosen > 0 && plan.runs[i].first < end; ++i) {
    plan.runs[i].count = std::min(plan.runs[i].count, end - plan.runs[i].first);
    ++kept;
  }
  plan.run_count = kept;
}

}  // namespace fulcrum
