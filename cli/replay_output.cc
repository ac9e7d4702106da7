#include "cli/replay_output.h"

#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "base/document.h"
#include "cli/output.h"

namespace fulcrum::cli {
namespace {

std::string percent(double share) {
  return number(share * 100, share > 0 && share < 0.01 ? 2 : 3) + " %";
}

std::string fixed(double value, int decimals) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string whole(std::uint64_t count) {
  return format(Tokens(static_cast<std::int64_t>(count)));
}

void print_bytes(std::ostream& out, std::span<const replay::PolicyReport> policies) {
  std::vector<std::string> head{"bytes moved"};
  for (const replay::TierTotals& tier : policies.front().tiers) {
    head.push_back(tier.name + " read");
    head.push_back(tier.name + " written");
  }
  Table table(std::move(head));
  for (const replay::PolicyReport& policy : policies) {
    std::vector<std::string> row{policy.name};
    for (const replay::TierTotals& tier : policy.tiers) {
      row.push_back(format(tier.read));
      row.push_back(format(tier.written));
    }
    table.add(std::move(row));
  }
  table.print(out);
}

}  // namespace

void print_comparison(std::ostream& out, std::span<const replay::PolicyReport> policies) {
  if (policies.empty()) return;
  Table table({"policy", "TTFT mean", "p50", "p95", "p99", "GPU s", "saved", "from tiers", "loads", "harmful",
               "given up", "harm p99.9"});
  for (const replay::PolicyReport& policy : policies) {
    const double without = policy.gpu_seconds + policy.gpu_seconds_saved;
    table.add({policy.name, format(Seconds(policy.ttft_s.mean)), format(Seconds(policy.ttft_s.p50)),
               format(Seconds(policy.ttft_s.p95)), format(Seconds(policy.ttft_s.p99)),
               number(policy.gpu_seconds, 4), percent(without > 0 ? policy.gpu_seconds_saved / without : 0),
               percent(policy.loaded_share), whole(policy.loads), whole(policy.harmful_reads),
               whole(policy.given_up), fixed(policy.harm_p999, 3)});
  }
  table.print(out);
  out << '\n';
  print_bytes(out, policies);
}

void print_scenario(std::ostream& out, const replay::ScenarioReport& report) {
  out << report.name << "\nSource: " << report.source << "\n\n";
  Table table({"quantity", "unit", "published", "simulated", "ratio", "role"});
  for (const replay::ScenarioFigure& figure : report.figures) {
    const bool known = figure.published.has_value();
    table.add({figure.quantity, figure.unit, known ? number(*figure.published, 4) : "-",
               number(figure.simulated, 4), known ? fixed(figure.simulated / *figure.published, 2) : "-",
               known ? std::string(replay::to_string(figure.role)) : "-"});
  }
  table.print(out);
  out << "\nWhat the gate would have changed:\n";
  Table changes({"quantity", "unit", "no gate", "gate", "break_even"});
  for (const replay::ScenarioChange& change : report.changes) {
    changes.add({change.quantity, change.unit, number(change.without_gate, 4), number(change.with_gate, 4),
                 number(change.break_even, 4)});
  }
  changes.print(out);
  out << "\nAn input set a number of the model, a fitted figure chose a parameter; only predictions test "
         "it.\n";
  for (const std::string& remark : report.remarks) out << "- " << remark << '\n';
}

}  // namespace fulcrum::cli
