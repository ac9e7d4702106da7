#include "tiers/mount.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/checksum.h"
#include "tiers/drive_facts.h"
#include "tiers/sys_file.h"

namespace fulcrum {
namespace {

namespace fs = std::filesystem;

/// "none [mq-deadline] kyber" -> "mq-deadline".
std::string chosen_scheduler(const std::string& line) {
  const auto open = line.find('[');
  const auto close = line.find(']', open);
  if (open == std::string::npos || close == std::string::npos) return line;
  return line.substr(open + 1, close - open - 1);
}

std::string hash_text(const std::string& text) {
  if (text.empty()) return {};
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash64(text)));
  return digits.data();
}

/// Drives of hypervisors: their rotational flag is the driver's default (virtio says 1 on any medium).
bool is_virtual_drive(const std::string& name) {
  constexpr std::array kPrefixes = {"vd", "xvd", "loop", "zram", "nbd", "rbd", "ram"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

/// Filesystem type of one mountinfo line: the word after the lone dash.
std::string type_in(const std::string& line) {
  const auto dash = line.find(" - ");
  if (dash == std::string::npos) return {};
  std::istringstream rest(line.substr(dash + 3));
  std::string type;
  rest >> type;
  return type;
}

}  // namespace

std::string filesystem_of(int descriptor, const std::string& proc) {
  struct statx facts {};
  unsigned wanted = 0;
#ifdef STATX_MNT_ID
  wanted = STATX_MNT_ID;
#endif
  if (statx(descriptor, "", AT_EMPTY_PATH, wanted, &facts) != 0) return {};
  std::string device = std::to_string(facts.stx_dev_major);
  device += ':' + std::to_string(facts.stx_dev_minor);

  std::ifstream mounts(proc + "/self/mountinfo");
  std::string by_device;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id;
    std::string parent;
    std::string number;
    fields >> id >> parent >> number;
#ifdef STATX_MNT_ID
    // The mount's own number is exact also on btrfs, whose files carry another device number.
    if ((facts.stx_mask & STATX_MNT_ID) != 0 && id == std::to_string(facts.stx_mnt_id)) return type_in(line);
#endif
    if (number == device) by_device = type_in(line);
  }
  return by_device;
}

bool is_memory_filesystem(int descriptor) {
  struct statfs facts {};
  if (fstatfs(descriptor, &facts) != 0) return false;
  return facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
}

std::optional<BlockDevice> find_block_device(dev_t number, const std::string& sys) {
  if (major(number) == 0) return std::nullopt;
  const std::string link =
      sys + "/dev/block/" + std::to_string(major(number)) + ":" + std::to_string(minor(number));
  std::error_code failed;
  const fs::path own = fs::canonical(link, failed);
  if (failed) return std::nullopt;
  const fs::path drive = fs::exists(own / "partition", failed) ? own.parent_path() : own;

  BlockDevice device;
  device.name = drive.filename().string();
  device.model = first_said(drive, {"device/model"});
  device.serial_hash = hash_text(first_said(drive, {"serial", "device/serial", "wwid", "device/wwid"}));
  device.scheduler = chosen_scheduler(first_line(drive / "queue/scheduler"));
  const std::string flag = first_line(drive / "queue/rotational");
  if (!flag.empty() && !is_virtual_drive(device.name)) device.rotational = flag == "1";
  device.stat_path = (own / "stat").string();
  add_drive_facts(own, drive, device);
  return device;
}

}  // namespace fulcrum
