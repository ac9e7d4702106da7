#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/errors.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/printable.h"
#include "cli/this_machine.h"
#include "fulcrum/policy.h"
#include "fulcrum/profile.h"

namespace fulcrum::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> policies;
  std::string profile;
  bool effective = false;
  bool other_machine = false;
};

void print_profile(const std::string& path, const MachineProfile& profile) {
  std::cout << path << ": ok, schema " << MachineProfile::kSchema << ", made "
            << profile.provenance.created_utc << " in " << profile.provenance.mode << " mode\n";
  for (const std::string& finding : profile.findings) std::cout << "  " << finding << '\n';
  if (!profile.tiers.empty()) {
    Table table({"tier", "medium", "read", "write", "set-up", "verdict"});
    for (const TierProfile& tier : profile.tiers) {
      table.add({tier.name, std::string(to_string(tier.medium)), format(tier.read.value),
                 format(tier.write.value), format(tier.setup.value), std::string(to_string(tier.verdict))});
    }
    table.print(std::cout);
  }
  if (profile.prefill) {
    std::cout << "prefill costs of " << profile.prefill->model << " on " << profile.prefill->gpu << " from "
              << to_string(profile.prefill->source) << ", verdict "
              << to_string(profile.prefill->cost.verdict) << '\n';
  } else {
    std::cout << "no prefill costs: break-even cannot be computed from this profile\n";
  }
}

/// Is the profile of this machine? Returns the exit code.
int check_machine(const CheckOptions& options, const MachineProfile& profile) {
  const MachineDifferences found = differences_here(profile);
  for (const std::string& what : found.notes) note(options.profile, what);
  if (found.same_machine()) {
    std::cout << "it was measured on this machine\n";
    return kOk;
  }
  std::string lines;
  for (const std::string& what : found.mismatches) lines += (lines.empty() ? "" : "\n") + what;
  if (options.other_machine) {
    std::cout << "it was not measured on this machine:\n" << printable(lines) << '\n';
    return kOk;
  }
  return fail(make_error(ErrorKind::mismatch, {}, options.profile + " does not fit this machine", lines,
                         "calibrate this machine (fulcrum calibrate --path DIR --out FILE), or say "
                         "--other-machine if the profile is not meant for this one"));
}

/// Reports one policy; returns its exit code.
int check_policy(const std::string& path, const std::optional<MachineProfile>& profile, bool effective) {
  const auto policy = PolicyConfig::load(path);
  if (!policy) return fail(policy.error());
  if (profile) {
    if (const auto fits = policy->check_against(*profile); !fits) {
      Error error = fits.error();
      if (error.where.empty()) error.where = path;
      return fail(error);
    }
    const std::vector<std::string> too_large = policy->too_large_for(*profile);
    for (const std::string& what : too_large) std::cerr << "fulcrum: " << what << '\n';
    if (!too_large.empty()) return kBadInput;
  }
  std::cout << path << ": ok"
            << (profile ? ", fits the profile" : " by itself (add --profile to hold it against a machine)")
            << '\n';
  if (effective) std::cout << policy->to_yaml();
  return kOk;
}

int run(const CheckOptions& options) {
  if (options.policies.empty() && options.profile.empty()) {
    return fail(bad_input({}, "nothing to check", "give --policy FILE, --profile FILE or both"));
  }
  int worst = kOk;
  std::optional<MachineProfile> profile;
  if (!options.profile.empty()) {
    auto loaded = MachineProfile::load(options.profile);
    if (loaded) {
      print_profile(options.profile, *loaded);
      worst = check_machine(options, *loaded);
      profile = std::move(*loaded);
    } else {
      worst = fail(loaded.error());
    }
  }
  for (const std::string& path : options.policies) {
    worst = std::max(worst, check_policy(path, profile, options.effective));
  }
  return worst;
}

}  // namespace

void add_check(CLI::App& program, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      program.add_subcommand("check", "Check policies and a machine profile, and that they fit");
  command->add_option("--policy", options->policies, "policy file (YAML); may be given several times");
  CLI::Option* profile = command->add_option("--profile", options->profile,
                                             "machine profile (YAML) that the policies are to run with");
  command->add_flag("--effective", options->effective,
                    "print each policy in full, every value with its origin");
  command
      ->add_flag("--other-machine", options->other_machine,
                 "the profile is not meant for this machine: only show what differs here")
      ->needs(profile);
  command->footer(
      "A profile is held against the machine that the command runs on; nothing is written to its drives.");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fulcrum::cli
