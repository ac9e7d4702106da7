#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/document.h"
#include "base/errors.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/printable.h"
#include "policy/decision_log.h"

namespace fulcrum::cli {
namespace {

struct ExplainOptions {
  std::string log;
  std::optional<RequestId> request;
  std::size_t top = 5;
  std::string policy;
  std::string profile;
};

/// A binary file given by mistake: refused before a part of it is shown as a broken line.
Result<void> check_text(std::string_view line, const std::string& where) {
  const std::size_t at = first_unprintable(line);
  if (at == std::string_view::npos) return {};
  return bad_input(
      where,
      "byte " + std::to_string(at + 1) + " of the line is no text (" + printable(line.substr(at, 1)) + ")",
      "name a decision log, from 'fulcrum replay --decisions FILE'");
}

/// Another policy and machine, under which the decisions are taken again.
struct Instead {
  PolicyConfig policy;
  MachineProfile profile;
};

Result<std::vector<DecisionRecord>> read_log(const std::string& path) {
  constexpr std::size_t kLimit = std::size_t{1} << 30;
  const auto text = read_file(path, kLimit);
  if (!text) return text.error();
  std::vector<DecisionRecord> records;
  std::size_t line_number = 0;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (line.empty()) continue;
    const std::string where = path + ":" + std::to_string(line_number);
    if (auto text_only = check_text(line, where); !text_only) return text_only.error();
    auto record = parse_decision(line, where);
    if (!record) return record.error();
    records.push_back(std::move(*record));
  }
  if (records.empty())
    return bad_input(path, "no decisions in it", "'fulcrum replay --decisions' writes them");
  return records;
}

bool same(const DecisionRecord& a, const DecisionRecord& b) {
  return a.reason.choice == b.reason.choice && a.load_end == b.load_end;
}

double stake(const DecisionRecord& record) {
  return std::abs((record.reason.saved - record.reason.paid).value());
}

void print_sides(const DecisionRecord& record) {
  const Reason& reason = record.reason;
  std::cout << "  save " << number(reason.saved.value()) << " s " << (reason.saved > reason.paid ? ">" : "<=")
            << " pay " << number(reason.paid.value()) << " s, with a lead of " << number(reason.lead.value())
            << " s, a margin of " << number(record.margin.value()) << " s and a GPU second at "
            << number(reason.gpu_price) << '\n';
}

void print(const DecisionRecord& record, const DecisionRecord& again, bool instead) {
  const Reason& reason = record.reason;
  std::cout << "request " << record.request << " at " << number(record.at.value(), 6)
            << " s: " << to_string(reason.choice) << ", " << format(record.load_end - record.resident)
            << " tokens loaded and " << format(record.prompt - record.load_end) << " computed of "
            << format(record.prompt) << '\n';
  print_sides(record);
  Table table({"  up to", "from", "load s", "saves s", "TTFT s", ""});
  for (std::size_t i = 0; i < record.alternatives.size(); ++i) {
    const Alternative& a = record.alternatives[i];
    table.add({"  " + format(a.load_end), a.tier < 0 ? "-" : record.tiers[static_cast<std::size_t>(a.tier)],
               number(a.load.value()), number(a.saved.value()), number(a.ttft.value()),
               i == reason.chosen ? "chosen" : ""});
  }
  table.print(std::cout);
  if (instead) {
    std::cout << "  with the other policy and profile: " << to_string(again.reason.choice) << " up to "
              << format(again.load_end) << (same(record, again) ? ", as before" : ", another choice") << '\n';
    print_sides(again);
  } else {
    std::cout << "  decided again from these numbers: "
              << (same(record, again) ? "agrees"
                                      : "DISAGREES, " + std::string(to_string(again.reason.choice)))
              << '\n';
  }
}

Result<std::optional<Instead>> read_instead(const ExplainOptions& options) {
  if (options.policy.empty()) return std::optional<Instead>();
  auto policy = PolicyConfig::load(options.policy);
  if (!policy) return policy.error();
  auto profile = MachineProfile::load(options.profile);
  if (!profile) return profile.error();
  if (!profile->prefill) {
    return bad_input(options.profile, "no prefill costs in it",
                     "calibrate with --prefill, --prefill-server or --prefill-datasheet");
  }
  return std::optional<Instead>(Instead{std::move(*policy), std::move(*profile)});
}

/// The decisions taken again, in the order of the log.
Result<std::vector<DecisionRecord>> take_again(const std::vector<DecisionRecord>& records,
                                               const std::optional<Instead>& instead) {
  std::vector<DecisionRecord> again;
  for (const DecisionRecord& record : records) {
    if (!instead) {
      again.push_back(decide_again(record, record.rule));
      continue;
    }
    auto anew = decide_again(record, instead->policy, instead->profile);
    if (!anew) return anew.error();
    again.push_back(std::move(*anew));
  }
  return again;
}

void print_summary(const std::vector<DecisionRecord>& records, std::size_t differing, bool instead) {
  std::array<std::size_t, 4> counts{};
  Seconds gained(0);
  for (const DecisionRecord& record : records) {
    ++counts[static_cast<std::size_t>(record.reason.choice)];
    if (record.reason.choice == Choice::load) gained += record.reason.saved - record.reason.paid;
  }
  std::cout << records.size() << " decisions:";
  for (const Choice choice : {Choice::load, Choice::recompute, Choice::resident, Choice::miss}) {
    std::cout << ' ' << counts[static_cast<std::size_t>(choice)] << ' ' << to_string(choice)
              << (choice == Choice::miss ? "" : ",");
  }
  std::cout << "\nloads were predicted to gain " << number(gained.value()) << " s in all\n"
            << (instead ? "the other policy and profile decide " : "decided again, ") << differing
            << (instead ? " of them otherwise\n" : " come out otherwise\n");
}

int run(const ExplainOptions& options) {
  auto records = read_log(options.log);
  if (!records) return fail(records.error());
  if (options.request) {
    std::erase_if(*records, [&](const DecisionRecord& r) { return r.request != *options.request; });
    if (records->empty()) {
      return fail(bad_input(options.log, "no decision for request " + std::to_string(*options.request)));
    }
  }
  const auto instead = read_instead(options);
  if (!instead) return fail(instead.error());
  const auto again = take_again(*records, *instead);
  if (!again) return fail(again.error());

  std::vector<std::size_t> shown(records->size());
  std::size_t differing = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    shown[i] = i;
    if (!same((*records)[i], (*again)[i])) ++differing;
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [&](std::size_t a, std::size_t b) { return stake((*records)[a]) > stake((*records)[b]); });
  if (!options.request) shown.resize(std::min(shown.size(), options.top));
  print_summary(*records, differing, instead->has_value());
  for (const std::size_t i : shown) {
    std::cout << '\n';
    print((*records)[i], (*again)[i], instead->has_value());
  }
  return differing > 0 && !instead->has_value() ? kUntrusted : kOk;
}

}  // namespace

void add_explain(CLI::App& program, Action& action) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = program.add_subcommand("explain", "Show what decisions compared, and take them again");
  command->add_option("log", options->log, "Decision log, from 'fulcrum replay --decisions FILE'")
      ->required();
  command->add_option("--request", options->request, "Only this request's decision");
  command->add_option("--top", options->top, "Show so many decisions, those with most at stake first")
      ->capture_default_str();
  auto* policy = command->add_option("--policy", options->policy, "Decide again under this policy");
  auto* profile = command->add_option("--profile", options->profile, "...with the costs of this machine");
  policy->needs(profile);
  profile->needs(policy);
  command->footer(
      "Each decision is printed with both sides of its inequality, and taken again from the recorded\n"
      "numbers: the exit code is 3 where some come out otherwise.");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fulcrum::cli
