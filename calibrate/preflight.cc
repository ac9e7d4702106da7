#include "calibrate/preflight.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/document.h"
#include "base/errors.h"
#include "tiers/file_device.h"
#include "tiers/mount.h"

namespace fulcrum::calibrate {
namespace {

constexpr Bytes kTrialFile{std::int64_t{1} << 20};
constexpr Seconds kLook{0.5};
constexpr BytesPerSecond kOthersMost{5e6};
constexpr rlim_t kLockableLeast = rlim_t{8} << 20;

std::string link_text(int lanes, double transfers) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%d x %.3g GT/s", lanes, transfers);
  return text.data();
}

Result<Preflight> look_at_directory(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return os_error(errno, "calibrate", path);
  if (!S_ISDIR(about.st_mode))
    return bad_input(path, "is not a directory", "name a directory on the drive to measure");
  Preflight seen;
  char absolute[PATH_MAX];
  seen.path = realpath(path.c_str(), absolute) != nullptr ? absolute : path;
  if (const auto drive = find_block_device(about.st_dev)) seen.sensor = drive->sensor;
  struct statvfs space {};
  if (statvfs(path.c_str(), &space) != 0) return os_error(errno, "calibrate", path);
  const auto unit = static_cast<std::int64_t>(space.f_frsize);
  seen.free = Bytes(static_cast<std::int64_t>(space.f_bavail) * unit);
  seen.filesystem = Bytes(static_cast<std::int64_t>(space.f_blocks) * unit);
  if ((space.f_flag & ST_RDONLY) != 0U) return os_error(EROFS, "calibrate", path);
  return seen;
}

void look_at_others(const FileDevice& device, Clock& clock, Preflight& seen) {
  const DeviceEvidence before = device.evidence();
  clock.sleep(kLook);
  const DeviceEvidence after = device.evidence();
  if (!before.known || !after.known) {
    seen.findings.push_back({Severity::ok, "the system keeps no counters for the device of this path"});
    return;
  }
  const Bytes moved = after.device_read - before.device_read + (after.device_written - before.device_written);
  if (moved / kLook > kOthersMost) {
    seen.findings.push_back(
        {Severity::warn, "something else moves " + format(moved / kLook) + " on this drive right now"});
  }
}

void look_at_system(const MachineFacts& facts, Preflight& seen) {
  rlimit lockable{};
  if (getrlimit(RLIMIT_MEMLOCK, &lockable) == 0 && lockable.rlim_cur < kLockableLeast) {
    seen.findings.push_back({Severity::ok, "little memory may be locked (ulimit -l is " +
                                               format(Bytes(static_cast<std::int64_t>(lockable.rlim_cur))) +
                                               "): old kernels may refuse io_uring"});
  }
  if (facts.governor == "powersave") {
    seen.findings.push_back({Severity::warn,
                             "the processor's frequency governor is 'powersave': use "
                             "'performance' for stable numbers"});
  }
}

}  // namespace

Medium medium_of(const DeviceIdentity& device, bool turning) {
  static constexpr std::array<std::string_view, 10> kShared = {"nfs",    "nfs4",   "cifs",   "smb3", "ceph",
                                                               "lustre", "wekafs", "beegfs", "gpfs", "ocfs2"};
  if (std::find(kShared.begin(), kShared.end(), device.filesystem) != kShared.end()) return Medium::pool;
  return turning ? Medium::hdd : Medium::flash;
}

std::string link_finding(const PcieLink& link) {
  const int lanes = std::max(link.lanes, link.lanes_most);
  const double transfers = std::max(link.transfers, link.transfers_most);
  if (!link.known() || (lanes == link.lanes && transfers <= link.transfers)) return {};
  return "the drive's PCIe link runs at " + link_text(link.lanes, link.transfers) + "; the drive could do " +
         link_text(lanes, transfers);
}

Result<Preflight> preflight(const std::string& path, bool turning, const MachineFacts& facts, Clock& clock) {
  auto seen = look_at_directory(path);
  if (seen.has_error()) return seen;
  FileDeviceOptions options;
  options.size = kTrialFile;
  const auto device = FileDevice::open(path, options);
  if (device.has_error()) return device.error();
  seen->device = (*device)->identity();
  seen->mode = (*device)->mode();
  seen->in_memory = (*device)->in_memory();
  seen->medium = medium_of(seen->device, turning || (*device)->rotational().value_or(false));
  if (seen->in_memory) {
    seen->findings.push_back({Severity::warn, "this path is memory (" + seen->device.filesystem +
                                                  "), not a drive: the dram tier describes memory"});
  }
  if (!seen->device.device.empty() && !(*device)->rotational().has_value()) {
    seen->findings.push_back({Severity::ok,
                              "the drive is virtual: what its host keeps in memory cannot be seen "
                              "from here"});
  }
  if (const std::string& why = (*device)->fallback_reason(); !why.empty())
    seen->findings.push_back({Severity::warn, why});
  const std::string& scheduler = seen->device.scheduler;
  if (seen->medium == Medium::flash && (scheduler == "bfq" || scheduler == "kyber")) {
    seen->findings.push_back({Severity::warn, "the I/O scheduler is '" + scheduler +
                                                  "': 'none' or 'mq-deadline' cost flash drives less"});
  }
  if (std::string slow = link_finding(seen->device.pcie); !slow.empty())
    seen->findings.push_back({Severity::warn, std::move(slow)});
  look_at_others(**device, clock, *seen);
  look_at_system(facts, *seen);
  return seen;
}

}  // namespace fulcrum::calibrate
