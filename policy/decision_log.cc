#include "policy/decision_log.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/document.h"
#include "base/errors.h"
#include "policy/costs.h"

namespace fulcrum {
namespace {

std::string upper(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return out;
}

std::string number(Seconds time) {
  return format_exact(time.value());
}

std::string hex(const BlockKey& key) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(key.high),
                static_cast<unsigned long long>(key.low));
  return text.data();
}

// The alternative whose two sides are shown: the chosen one, or what came nearest to being chosen.
std::size_t shown(const DecisionRecord& record) {
  if (record.reason.chosen > 0 || record.alternatives.size() < 2) return record.reason.chosen;
  const auto gain = [&](const Alternative& a) {
    return a.saved * record.reason.gpu_price - a.exposed(record.reason.lead);
  };
  const auto best =
      std::max_element(record.alternatives.begin() + 1, record.alternatives.end(),
                       [&](const Alternative& a, const Alternative& b) { return gain(a) < gain(b); });
  return static_cast<std::size_t>(best - record.alternatives.begin());
}

}  // namespace

DecisionRecord record_of(const Request& request, const Plan& plan, const PolicyConfig& policy, Seconds now) {
  DecisionRecord record;
  record.at = now;
  record.request = request.id;
  if (!request.blocks.empty()) record.prefix = request.blocks.back();
  record.prompt = plan.prompt;
  record.resident = plan.resident;
  record.load_end = plan.load_end;
  record.reason = plan.reason;
  record.margin = policy.margin;
  record.rule = rule_of(policy);
  record.alternatives.assign(plan.alternatives.begin(), plan.alternatives.begin() + plan.alternative_count);
  for (const TierPolicy& tier : policy.tiers) record.tiers.push_back(tier.name);
  return record;
}

std::string to_line(const DecisionRecord& record) {
  const Reason& reason = record.reason;
  std::string line = upper(to_string(reason.choice)) + " t=" + number(record.at) +
                     " req=" + std::to_string(record.request) + " pfx=" + hex(record.prefix) +
                     " prompt=" + std::to_string(record.prompt.value()) +
                     " resident=" + std::to_string(record.resident.value()) +
                     " k=" + std::to_string(record.load_end.value());
  line += " | save " + number(reason.saved) + (reason.saved > reason.paid ? " > " : " <= ") + "pay " +
          number(reason.paid) + ": exposed " +
          number(record.alternatives.empty() ? Seconds(0)
                                             : record.alternatives[shown(record)].exposed(reason.lead)) +
          " + margin " + number(record.margin);
  line += " | rule=" + std::string(to_string(record.rule.strategy)) +
          " stop_loss=" + format_exact(record.rule.stop_loss) +
          " threshold=" + std::to_string(record.rule.threshold.value()) + " lead=" + number(reason.lead) +
          " gpu_price=" + format_exact(reason.gpu_price) + " | alt";
  for (const Alternative& a : record.alternatives) {
    line += " " + std::to_string(a.load_end.value());
    if (a.tier >= 0) line += "@" + record.tiers[index_of(a.tier)];
    line += ":" + number(a.load) + ":" + number(a.saved) + ":" + number(a.ttft);
  }
  return line;
}

DecisionRecord decide_again(DecisionRecord record, const Rule& rule) {
  Reason& reason = record.reason;
  record.rule = rule;
  record.margin = rule.margin;
  reason.chosen = static_cast<std::uint8_t>(choose(rule, record.alternatives, reason.lead, reason.gpu_price));
  record.load_end = record.alternatives[reason.chosen].load_end;
  if (record.alternatives.size() < 2) return record;  // nothing to choose from: resident or miss stays
  reason.choice = reason.chosen > 0 ? Choice::load : Choice::recompute;
  const Alternative& seen = record.alternatives[shown(record)];
  reason.saved = seen.saved * reason.gpu_price;
  reason.paid = seen.exposed(reason.lead) + record.margin;
  return record;
}

Result<DecisionRecord> decide_again(const DecisionRecord& record, const PolicyConfig& policy,
                                    const MachineProfile& profile) {
  if (const auto fits = policy.check_against(profile); !fits) return fits.error();
  const Costs costs(policy, profile);
  DecisionRecord anew = record;
  anew.tiers.clear();
  for (const TierPolicy& tier : policy.tiers) anew.tiers.push_back(tier.name);
  std::array<Tokens, kMaxTiers> tokens{};
  Seconds slow(0);
  Seconds typical(0);
  for (std::size_t i = 0; i < anew.alternatives.size(); ++i) {
    Alternative& a = anew.alternatives[i];
    if (i > 0) {
      const std::string& name = record.tiers[index_of(a.tier)];
      const auto found = std::find(anew.tiers.begin(), anew.tiers.end(), name);
      if (found == anew.tiers.end()) {
        return make_error(ErrorKind::mismatch, "decide again", "policy", "it has no tier '" + name + "'",
                          "give a policy with the tiers of the decision, or the one that it was taken under");
      }
      a.tier = static_cast<TierId>(found - anew.tiers.begin());
      Tokens& own = tokens[index_of(a.tier)];
      own += a.load_end - anew.alternatives[i - 1].load_end;
      const Bytes bytes = own * costs.kappa() + costs.fixed_bytes();
      slow = std::max(slow, costs.slow(a.tier).time(bytes));
      typical = std::max(typical, costs.typical(a.tier).time(bytes));
    }
    a.load = slow;
    a.saved = costs.saved(anew.resident, a.load_end);
    const Tokens fresh = std::max(anew.prompt - a.load_end, Tokens(1));
    a.ttft =
        std::max(typical - anew.reason.lead, Seconds(0)) + costs.prefill().time(fresh, anew.prompt - fresh);
  }
  if (policy.gpu_price > 0) anew.reason.gpu_price = policy.gpu_price;
  return decide_again(std::move(anew), rule_of(policy));
}

}  // namespace fulcrum
