#include "calibrate/calibration.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/errors.h"
#include "calibrate/placement.h"
#include "calibrate/storage_probe.h"
#include "fulcrum/version.h"
#include "tiers/file_device.h"

namespace fulcrum::calibrate {
namespace {

constexpr Seconds kTurnLeast{1.5e-3};  // no head moves and no platter turns faster than this on average

std::string default_name(const Preflight& seen) {
  if (seen.medium == Medium::hdd) return "hdd";
  if (seen.medium == Medium::pool) return "pool";
  return seen.device.device.rfind("nvme", 0) == 0 ? "nvme" : "disk";
}

Result<void> check_names(const CalibrationRequest& request) {
  if (request.names.empty()) return {};
  if (request.names.size() != request.paths.size()) {
    return bad_input("--name",
                     std::to_string(request.names.size()) + " names for " +
                         std::to_string(request.paths.size()) + " paths",
                     "give one --name for each --path, or none");
  }
  std::set<std::string> taken = {"dram"};  // the tier of host memory
  for (const std::string& name : request.names) {
    if (name.empty() || !taken.insert(name).second)
      return bad_input("--name", "'" + name + "' is empty or taken", "give every tier a name of its own");
  }
  return {};
}

void name_tiers(const CalibrationRequest& request, std::vector<PathPlan>& paths) {
  std::map<std::string, int> count;
  for (const PathPlan& path : paths) ++count[default_name(path.seen)];
  std::map<std::string, int> used;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string name = default_name(paths[i].seen);
    const std::string number = count[name] > 1 ? std::to_string(++used[name]) : "";
    paths[i].tier = request.names.empty() ? name + number : request.names[i];
  }
}

/// What only a look at numbers and preflight together can say.
void add_context(const Preflight& seen, TierProfile& tier) {
  if (seen.in_memory) tier.verdict = std::max(tier.verdict, Verdict::cached);
  for (const PreflightFinding& finding : seen.findings) tier.findings.push_back(finding.text);
  const bool fast = tier.setup.high < kTurnLeast;
  if (tier.medium == Medium::hdd && fast)
    tier.findings.emplace_back(
        "random reads are too fast for a turning disk: is this a drive with a cache, or virtual?");
  if (tier.medium == Medium::flash && tier.setup.low > kTurnLeast * 2)
    tier.findings.emplace_back("random reads are as slow as a turning disk's: if it is one, use --hdd");
}

/// Rates of turning disks fall from the first, outermost tracks to the last.
std::string zone_text(const Result<DiskPlace>& place) {
  if (place.has_error())
    return "in which zone of the disk the scratch file lay is not known: " + place.error().message();
  const auto share = [&](Bytes at) { return percent_text(at / place->disk); };
  return "the scratch file lay at " + share(place->middle) + " of the disk (between " + share(place->first) +
         " and " + share(place->last) + "): outer zones come first, the innermost is about half as fast";
}

Result<StorageReport> measure_path(const PathPlan& path, const std::vector<NumaNode>& nodes, Clock& clock,
                                   const TierProgress& progress, const std::atomic<bool>& stop) {
  const Placement placement = stay_near(nodes, path.seen.device.numa_node);
  FileDeviceOptions options;
  options.size = path.plan.file;
  const auto device = FileDevice::open(path.seen.path, options);
  if (device.has_error()) return device.error();
  ProbeHooks hooks;
  hooks.heat = [&] { return temperature(path.seen.sensor); };
  hooks.progress = [&](double share, std::string_view what) { progress(path.tier, share, what); };
  auto report = probe_storage(**device, clock, path.plan, hooks, stop);
  if (report.has_error()) return report;
  report->tier.name = path.tier;
  report->tier.medium = path.seen.medium;
  report->tier.space = path.seen.filesystem;
  add_context(path.seen, report->tier);
  if (!placement.finding.empty()) report->tier.findings.push_back(placement.finding);
  if (path.seen.medium == Medium::hdd) report->tier.findings.push_back(zone_text((*device)->disk_place()));
  return report;
}

Provenance provenance_of(const CalibrationPlan& plan, const CalibrationRequest& request) {
  Provenance from;
  from.tool_version = FULCRUM_VERSION;
  from.created_utc = utc_stamp();
  from.seed = request.seed;
  from.mode = request.full ? "full" : "quick";
  from.kernel = plan.facts.kernel;
  from.cpu = plan.facts.cpu;
  from.cores = plan.facts.cores;
  from.memory = plan.facts.memory;
  return from;
}

}  // namespace

Result<CalibrationPlan> plan_calibration(const CalibrationRequest& request, Clock& clock) {
  if (auto names = check_names(request); names.has_error()) return names.error();
  CalibrationPlan plan;
  plan.facts = machine_facts();
  plan.memory = memory_plan(plan.facts, request.full, request.seed);
  for (const std::string& path : request.paths) {
    auto seen = preflight(path, request.turning, plan.facts, clock);
    if (seen.has_error()) return seen.error();
    const ProbePlan wish = seen->medium == Medium::hdd ? turning_plan(request.full, request.seed)
                           : request.full              ? full_plan(request.seed)
                                                       : quick_plan(request.seed);
    auto fitted = fit_to_space(wish, seen->free, request.budget);
    if (fitted.has_error()) {
      Error error = fitted.error();
      if (error.where.empty()) error.where = path;
      return error;
    }
    plan.paths.push_back({"", std::move(*seen), std::move(*fitted)});
  }
  name_tiers(request, plan.paths);
  return plan;
}

Result<Calibration> measure_machine(const CalibrationPlan& plan, const CalibrationRequest& request,
                                    Clock& clock, const TierProgress& progress,
                                    const std::atomic<bool>& stop) {
  Calibration found;
  found.samples_csv = Samples::csv_head();
  std::vector<TierProfile>& tiers = found.profile.tiers;
  const auto add = [&](StorageReport report) {
    found.samples_csv += report.samples.csv(report.tier.name);
    tiers.push_back(std::move(report.tier));
  };
  auto memory = probe_memory(
      clock, plan.memory, [&](double share, std::string_view what) { progress("dram", share, what); }, stop);
  if (memory.has_error()) return memory.error();
  memory->tier.space = plan.facts.memory;
  add(std::move(*memory));
  for (const PathPlan& path : plan.paths) {
    auto report = measure_path(path, plan.facts.nodes, clock, progress, stop);
    if (report.has_error()) return report.error();
    add(std::move(*report));
  }
  std::stable_sort(tiers.begin(), tiers.end(),
                   [](const TierProfile& a, const TierProfile& b) { return a.read.value > b.read.value; });
  found.profile.provenance = provenance_of(plan, request);
  return found;
}

}  // namespace fulcrum::calibrate
