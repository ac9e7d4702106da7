#include "cli/calibrate_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/document.h"
#include "cli/output.h"

namespace fulcrum::cli {
namespace {

using Json = nlohmann::ordered_json;

/// "2.41 GB/s +-2 %"
template <class T>
std::string with_spread(const Measured<T>& measured) {
  if (measured.verdict == Verdict::invalid) return "-";
  const double middle = static_cast<double>(measured.value.value());
  const double half = static_cast<double>(measured.high.value() - measured.low.value()) / 2;
  const std::string spread = middle > 0 ? number(100 * half / middle, 2) : "0";
  return format(measured.value) + " +-" + spread + " %";
}

std::string percent(const Measured<double>& share) {
  return share.verdict == Verdict::invalid ? "-" : number(100 * share.value, 2) + " %";
}

/// Fewest loads near the peak, among as many as were tried.
int gate_of(const TierProfile& tier) {
  int most = 1;
  for (const SurfacePoint& point : tier.reads) most = std::max(most, point.loads);
  return tier.sigma.verdict == Verdict::invalid ? 1 : tier.transfer().contention.gate(0.95, most);
}

std::string gate_text(const TierProfile& tier) {
  const int gate = gate_of(tier);
  return format(tier.transfer().contention.throughput(gate)) + " at " + std::to_string(gate);
}

template <class T>
Json measured_json(const Measured<T>& m) {
  const auto raw = [](T x) {
    if constexpr (std::is_same_v<T, double>) {
      return x;
    } else {
      return x.value();
    }
  };
  return {{"value", raw(m.value)},
          {"low", raw(m.low)},
          {"high", raw(m.high)},
          {"samples", m.samples},
          {"verdict", std::string(to_string(m.verdict))}};
}

Json device_json(const DeviceIdentity& device) {
  Json json = {{"path", device.path}, {"device", device.device}, {"model", device.model}};
  if (!device.firmware.empty()) json["firmware"] = device.firmware;
  if (device.pcie.known())
    json["pcie"] = {{"lanes", device.pcie.lanes}, {"lane_GTps", device.pcie.transfers}};
  if (device.numa_node) json["numa_node"] = *device.numa_node;
  return json;
}

/// What only some tiers have.
void add_extras(Json& json, const TierProfile& tier) {
  if (tier.medium != Medium::dram) json["device"] = device_json(tier.device);
  if (tier.far_node_penalty) json["far_node_penalty"] = measured_json(*tier.far_node_penalty);
  if (tier.heat) {
    json["heat"] = {
        {"before_C", tier.heat->before}, {"hottest_C", tier.heat->hottest}, {"after_C", tier.heat->after}};
    if (tier.heat->limit) json["heat"]["limit_C"] = *tier.heat->limit;
  }
  if (!tier.ramp) return;
  json["ramp"] = {{"burst_Bps", measured_json(tier.ramp->burst)},
                  {"sustained_Bps", measured_json(tier.ramp->sustained)},
                  {"burst_B", tier.ramp->burst_bytes.value()}};
  if (tier.ramp->recovery) {
    json["ramp"]["recovery"] = {{"burst_B", tier.ramp->recovery->burst.value()},
                                {"rest_s", measured_json(tier.ramp->recovery->rest)}};
  }
}

/// Facts that are no finding, for people: one line, or empty.
std::string facts_text(const TierProfile& tier) {
  std::vector<std::string> facts;
  const DeviceIdentity& device = tier.device;
  if (!device.firmware.empty()) facts.push_back("firmware " + device.firmware);
  if (device.pcie.known()) {
    facts.push_back("PCIe " + std::to_string(device.pcie.lanes) + " x " + number(device.pcie.transfers, 3) +
                    " GT/s");
  }
  if (device.numa_node) facts.push_back("NUMA node " + std::to_string(*device.numa_node));
  if (tier.heat) {
    facts.push_back(number(tier.heat->before, 3) + " C before, at most " + number(tier.heat->hottest, 3) +
                    " C, " + number(tier.heat->after, 3) + " C after");
  }
  if (tier.far_node_penalty) {
    facts.push_back("copies from the farthest NUMA node take " + number(tier.far_node_penalty->value, 3) +
                    " times as long");
  }
  if (tier.ramp && tier.ramp->recovery) {
    const Recovery& recovery = *tier.ramp->recovery;
    facts.push_back("a full write cache takes " + format(recovery.burst) + " at burst rate again after " +
                    format(recovery.rest.low) + " to " + format(recovery.rest.high));
  }
  std::string text;
  for (const std::string& fact : facts) text += (text.empty() ? "" : "; ") + fact;
  return text;
}

Json tier_json(const TierProfile& tier) {
  Json json = {{"name", tier.name},
               {"medium", std::string(to_string(tier.medium))},
               {"verdict", std::string(to_string(tier.verdict))},
               {"io", {{"uring", tier.io.uring}, {"direct", tier.io.direct}}},
               {"io_size_B", tier.io_size.value()},
               {"depth", tier.depth},
               {"read_Bps", measured_json(tier.read)},
               {"setup_s", measured_json(tier.setup)},
               {"sigma", measured_json(tier.sigma)},
               {"k", measured_json(tier.k)},
               {"gate", gate_of(tier)},
               {"write_Bps", measured_json(tier.write)},
               {"commit_half_B", measured_json(tier.commit_half)},
               {"read_during_writes", measured_json(tier.read_during_writes)},
               {"findings", tier.findings}};
  add_extras(json, tier);
  return json;
}

}  // namespace

void print_plan(std::ostream& out, const calibrate::CalibrationPlan& plan) {
  out << "dram: copies " << format(plan.memory.region) << " of memory with up to "
      << plan.memory.threads.back() << " threads\n";
  for (const calibrate::PathPlan& path : plan.paths) {
    out << path.tier << ": " << path.seen.path << " (" << to_string(path.seen.medium) << ", "
        << path.seen.device.filesystem << (path.seen.device.device.empty() ? "" : " on ")
        << path.seen.device.device << ", " << (path.seen.mode.uring ? "io_uring" : "threads") << ", "
        << (path.seen.mode.direct ? "direct" : "buffered") << ")\n";
    for (const std::string& line : describe(path.plan, path.seen.filesystem)) out << "  " << line << '\n';
    for (const auto& finding : path.seen.findings) {
      out << (finding.severity == calibrate::Severity::warn ? "  warning: " : "  note: ") << finding.text
          << '\n';
    }
  }
}

void print_result(std::ostream& out, const MachineProfile& profile) {
  Table table({"tier", "one load", "set-up", "best of many loads", "write", "read beside writes", "verdict"});
  for (const TierProfile& tier : profile.tiers) {
    table.add({tier.name, with_spread(tier.read), with_spread(tier.setup), gate_text(tier),
               with_spread(tier.write), percent(tier.read_during_writes),
               std::string(to_string(tier.verdict))});
  }
  table.print(out);
  for (const TierProfile& tier : profile.tiers) {
    if (const std::string facts = facts_text(tier); !facts.empty()) out << tier.name << ": " << facts << '\n';
    for (const std::string& finding : tier.findings) out << tier.name << ": " << finding << '\n';
  }
  if (profile.prefill) {
    const PrefillProfile& prefill = *profile.prefill;
    out << "prefill: " << prefill.model << " on " << prefill.gpu << ", " << prefill.samples << " samples ("
        << to_string(prefill.source) << "), 32,768 tokens in "
        << format(prefill.cost.time(Tokens(32768), Tokens(0))) << ", verdict "
        << to_string(prefill.cost.verdict) << '\n';
  }
}

std::string calibration_json(const MachineProfile& profile, const std::string& path) {
  Json tiers = Json::array();
  for (const TierProfile& tier : profile.tiers) tiers.push_back(tier_json(tier));
  Json report = {{"profile", path},
                 {"mode", profile.provenance.mode},
                 {"seed", profile.provenance.seed},
                 {"tiers", std::move(tiers)}};
  if (profile.prefill) {
    report["prefill"] = {{"source", std::string(to_string(profile.prefill->source))},
                         {"gpu", profile.prefill->gpu},
                         {"model", profile.prefill->model},
                         {"samples", profile.prefill->samples},
                         {"verdict", std::string(to_string(profile.prefill->cost.verdict))}};
  }
  return report.dump(2);
}

}  // namespace fulcrum::cli
