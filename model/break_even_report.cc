#include "model/break_even_report.h"

#include <algorithm>
#include <cmath>

#include "base/document.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

Measured<BytesPerSecond> shared(const TierProfile& tier, int loads) {
  // Conservative ends: the slowest single load with the strongest contention, and the other way round.
  const auto at = [loads](BytesPerSecond single, double sigma, double k) {
    return ContentionLaw{single, sigma, k}.throughput(loads) / static_cast<double>(loads);
  };
  return {at(tier.read.value, tier.sigma.value, tier.k.value),
          at(tier.read.low, tier.sigma.high, tier.k.high), at(tier.read.high, tier.sigma.low, tier.k.low),
          tier.read.samples, tier.read.verdict};
}

Clears compare(const Measured<BytesPerSecond>& rate, const Measured<BytesPerSecond>& needed) {
  if (rate.low > needed.high) return Clears::yes;
  return rate.high < needed.low ? Clears::no : Clears::perhaps;
}

TierBreakEven judge(const TierProfile& tier, const PrefillProfile& prefill, const BreakEvenQuestion& question,
                    const BreakEvenReport& report) {
  TierBreakEven out;
  out.name = tier.name;
  out.rate = question.bandwidth ? Measured<BytesPerSecond>::exact(*question.bandwidth)
                                : shared(tier, question.loads);
  out.setup = question.setup ? Measured<Seconds>::exact(*question.setup) : tier.setup;
  const LoadTerms load{prefill.kv_bytes_per_token, prefill.kv_bytes_fixed, out.setup, out.rate,
                       question.lead};
  out.break_even = break_even(prefill.cost, load, question.seed);
  for (const auto& needed : report.needed) out.clears.push_back(compare(out.rate, needed));
  return out;
}

Result<void> check(const MachineProfile& profile, const BreakEvenQuestion& question) {
  const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
  if (!profile.prefill || !positive(profile.prefill->cost.law.alpha() + profile.prefill->cost.law.beta())) {
    return bad_input(
        "profile", "it holds no prefill cost",
        "calibrate with --prefill, --prefill-server or --prefill-datasheet, or give --model and --gpu");
  }
  if (!positive(profile.prefill->kv_bytes_per_token.value())) {
    return bad_input("profile", "it does not say how many KV bytes a token takes", "calibrate with --model");
  }
  if (question.loads < 1) return bad_input("--concurrency", "at least one load");
  if (!(question.lead.value() >= 0)) return bad_input("--lead", "a time of 0 or more");
  if (question.bandwidth && !positive(question.bandwidth->value())) {
    return bad_input("--bandwidth", "a rate above 0");
  }
  if (question.setup && !(question.setup->value() >= 0)) return bad_input("--setup", "a time of 0 or more");
  for (const Tokens position : question.positions) {
    if (position.value() < 0) return bad_input("--position", "0 or more tokens");
  }
  return {};
}

TierProfile imagined() {
  TierProfile tier;
  tier.name = "what-if";
  tier.setup = Measured<Seconds>::exact(Seconds(0));
  return tier;
}

/// Three significant digits are all that a break-even is good for.
Tokens rounded(Tokens tokens) {
  if (tokens == kNever || tokens.value() < 1000) return tokens;
  const double digits = std::pow(10, std::floor(std::log10(static_cast<double>(tokens.value()))) - 2);
  return Tokens(std::llround(std::round(static_cast<double>(tokens.value()) / digits) * digits));
}

}  // namespace

std::string to_text(Tokens prefix) {
  return prefix == kNever ? "never" : format(rounded(prefix));
}

std::string TierBreakEven::sentence() const {
  const Measured<Tokens>& p = break_even;
  if (p.value == kNever) {
    const std::string best =
        p.low == kNever ? "" : " (at best, prefixes of " + to_text(p.low) + " tokens or more)";
    return name + ": recompute everything; no length pays" + best;
  }
  if (p.high == Tokens(0))
    return name + ": read everything; the set-up is hidden and a token reads faster than it computes";
  const std::string range = " (" + to_text(p.low) + " to " + to_text(p.high) + ")";
  return name + ": read prefixes of " + to_text(p.value) + " tokens or more" + range +
         "; recompute shorter ones";
}

Result<BreakEvenReport> break_even_report(const MachineProfile& profile, const BreakEvenQuestion& question) {
  if (const Result<void> sane = check(profile, question); sane.has_error()) return sane.error();
  const PrefillProfile& prefill = *profile.prefill;
  BreakEvenReport report;
  report.gpu = prefill.gpu;
  report.model = prefill.model;
  report.kappa = prefill.kv_bytes_per_token;
  report.prefill = prefill.cost.verdict;
  report.alpha = prefill.cost.law.alpha();
  report.beta = prefill.cost.law.beta();
  report.loads = question.loads;
  report.lead = question.lead;
  report.positions = question.positions;
  for (const Tokens position : question.positions) {
    report.needed.push_back(bandwidth_needed(prefill.cost, report.kappa, position));
  }
  std::vector<TierProfile> tiers = profile.tiers;
  if (tiers.empty() && question.bandwidth) tiers.push_back(imagined());
  for (const TierProfile& tier : tiers) report.tiers.push_back(judge(tier, prefill, question, report));
  return report;
}

}  // namespace fulcrum
