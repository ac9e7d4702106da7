#include "cli/this_machine.h"

#include "base/clock.h"
#include "cli/output.h"
#include "tiers/machine_facts.h"
#include "tiers/place.h"

namespace fulcrum::cli {
namespace {

TierNow look_at(const TierProfile& tier) {
  TierNow now{.tier = tier.name, .device = {}, .missing = {}};
  if (tier.device.path.empty()) return now;
  auto found = identity_at(tier.device.path);
  if (found.has_error()) {
    now.missing = "the directory '" + tier.device.path + "' cannot be looked at: " + found.error().detail;
  } else {
    now.device = std::move(*found);
  }
  return now;
}

std::string owner_of(const Provenance& from) {
  if (from.cpu.empty() && from.cores == 0) return "an unnamed machine";
  return "another machine (" + (from.cpu.empty() ? "processor unknown" : from.cpu) + ", " +
         std::to_string(from.cores) + " cores)";
}

}  // namespace

MachineDifferences differences_here(const MachineProfile& profile) {
  const MachineFacts facts = machine_facts();
  MachineNow now{.cpu = facts.cpu,
                 .cores = facts.cores,
                 .memory = facts.memory,
                 .kernel = facts.kernel,
                 .utc = utc_stamp(),
                 .tiers = {}};
  for (const TierProfile& tier : profile.tiers) {
    if (tier.medium != Medium::dram) now.tiers.push_back(look_at(tier));
  }
  return machine_differences(profile, now);
}

void note_whose_figures(const std::string& path, const MachineProfile& profile) {
  const MachineDifferences found = differences_here(profile);
  if (!found.same_machine()) {
    note(path, "its figures are those of " + owner_of(profile.provenance) +
                   ", not of this one: " + found.mismatches.front());
  }
  for (const std::string& what : found.notes) note(path, what);
}

}  // namespace fulcrum::cli
