#include "model/profile_match.h"

#include <string_view>

namespace fulcrum {
namespace {

void compare(std::vector<std::string>& out, std::string_view what, const std::string& measured,
             const std::string& now) {
  if (measured.empty() || now.empty() || measured == now) return;
  out.push_back(std::string(what) + " was '" + measured + "' when measured and is '" + now + "' now");
}

}  // namespace

std::vector<std::string> differences(const DeviceIdentity& profile, const DeviceIdentity& now) {
  std::vector<std::string> out;
  const bool same_drive = !profile.serial_hash.empty() && profile.serial_hash == now.serial_hash;
  if (!same_drive) {
    compare(out, "the directory", profile.path, now.path);
    compare(out, "the kernel's device name", profile.device, now.device);
  }
  compare(out, "the drive model", profile.model, now.model);
  compare(out, "the drive (hash of its serial)", profile.serial_hash, now.serial_hash);
  compare(out, "the filesystem", profile.filesystem, now.filesystem);
  compare(out, "the I/O scheduler", profile.scheduler, now.scheduler);
  return out;
}

}  // namespace fulcrum
