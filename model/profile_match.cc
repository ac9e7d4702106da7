#include "model/profile_match.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/document.h"
#include "base/text.h"

namespace fulcrum {
namespace {

constexpr double kMemorySlack = 0.1;

using Sentences = std::vector<std::string>;

void compare(Sentences& out, const std::string& what, const std::string& measured, const std::string& now) {
  if (measured.empty() || now.empty() || measured == now) return;
  out.push_back(what + " was '" + measured + "' when measured and is '" + now + "' now");
}

void compare_host(MachineDifferences& found, const Provenance& measured, const MachineNow& now) {
  compare(found.mismatches, "the processor", measured.cpu, now.cpu);
  if (measured.cores > 0 && now.cores > 0 && measured.cores != now.cores) {
    found.mismatches.push_back("the program could use " + std::to_string(measured.cores) +
                               " processor cores when measured and may use " + std::to_string(now.cores) +
                               " now");
  }
  const bool known = measured.memory > Bytes(0) && now.memory > Bytes(0);
  if (known && std::abs(now.memory / measured.memory - 1) > kMemorySlack)
    compare(found.mismatches, "memory", format(measured.memory), format(now.memory));
  compare(found.notes, "the kernel", measured.kernel, now.kernel);
}

/// True for the directory itself and for all below it.
bool lies_in(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" || path.starts_with(directory + "/");
}

std::string link_text(const PcieLink& link) {
  if (!link.known()) return {};
  return std::to_string(link.lanes) + " lanes at " + format_exact(link.transfers) + " GT/s";
}

void compare_device(MachineDifferences& found, const std::string& tier, const DeviceIdentity& measured,
                    const DeviceIdentity& now) {
  const auto differs = [&](Sentences& out, const char* what, const std::string& then,
                           const std::string& today) {
    compare(out, "tier '" + tier + "': " + what, then, today);
  };
  const bool serials_known = !measured.serial_hash.empty() && !now.serial_hash.empty();
  if (!serials_known) {
    if (!lies_in(now.path, measured.path))
      differs(found.mismatches, "the directory", measured.path, now.path);
    differs(found.mismatches, "the kernel's device name", measured.device, now.device);
  }
  differs(found.mismatches, "the drive model", measured.model, now.model);
  differs(found.mismatches, "the drive (hash of its serial)", measured.serial_hash, now.serial_hash);
  differs(found.mismatches, "the filesystem", measured.filesystem, now.filesystem);
  differs(found.notes, "the I/O scheduler", measured.scheduler, now.scheduler);
  differs(found.notes, "the firmware", measured.firmware, now.firmware);
  differs(found.notes, "the PCIe link", link_text(measured.pcie), link_text(now.pcie));
}

void compare_tier(MachineDifferences& found, const TierProfile& measured, const TierNow& now) {
  if (measured.medium == Medium::dram) return;
  if (measured.device.path.empty()) {
    found.mismatches.push_back("tier '" + measured.name + "': the profile does not say which drive this is");
  } else if (!now.missing.empty()) {
    found.mismatches.push_back("tier '" + measured.name + "': " + now.missing);
  } else {
    compare_device(found, measured.name, measured.device, now.device);
  }
}

/// The day of an ISO 8601 stamp.
std::optional<std::chrono::sys_days> day_of(std::string_view stamp) {
  if (stamp.size() < 10 || stamp[4] != '-' || stamp[7] != '-') return std::nullopt;
  const auto year = parse_integer(stamp.substr(0, 4));
  const auto month = parse_integer(stamp.substr(5, 2));
  const auto day = parse_integer(stamp.substr(8, 2));
  if (!year || !month || !day || *month < 0 || *day < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

void judge_age(Sentences& notes, const std::string& made, const std::string& utc) {
  const auto then = day_of(made);
  const auto today = day_of(utc);
  if (!then || !today) return;
  const auto days = (*today - *then).count();
  if (days > kStaleDays) {
    notes.push_back("it is stale: made on " + made.substr(0, 10) + ", " + std::to_string(days) + " days ago");
  } else if (days < -1) {
    notes.push_back("it was made on " + made.substr(0, 10) + ", which by this machine's clock is to come");
  }
}

bool names_no_machine(const Provenance& provenance) {
  return provenance.cpu.empty() && provenance.kernel.empty() && provenance.cores == 0;
}

}  // namespace

MachineDifferences machine_differences(const MachineProfile& profile, const MachineNow& now) {
  MachineDifferences found;
  if (names_no_machine(profile.provenance)) {
    found.mismatches.emplace_back("it does not say which machine was measured");
    return found;
  }
  compare_host(found, profile.provenance, now);
  for (const TierNow& tier : now.tiers) {
    if (const TierProfile* measured = profile.tier(tier.tier)) compare_tier(found, *measured, tier);
  }
  judge_age(found.notes, profile.provenance.created_utc, now.utc);
  return found;
}

}  // namespace fulcrum
