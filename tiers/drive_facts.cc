#include "tiers/drive_facts.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include "tiers/sys_file.h"

namespace fulcrum {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSector = 512;  // the unit of `size` and `start`, whatever the drive's own sector is
// Drives without a limit of their own name one of thousands of degrees.
constexpr double kHottestLimit = 150;

/// "nvme3", and neither "nvme3n1" nor "nvme-subsys3".
bool names_controller(const std::string& name) {
  const std::string prefix = "nvme";
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return false;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// "0000:3b:00.0": domain, bus, device and function of a PCI device.
bool names_pci_device(const std::string& name) {
  constexpr std::string_view kShape = ":xx:xx.x";
  if (name.size() <= kShape.size()) return false;
  const std::string tail = name.substr(name.size() - kShape.size());
  return std::equal(tail.begin(), tail.end(), kShape.begin(), [](unsigned char c, char shape) {
    return shape == 'x' ? std::isxdigit(c) != 0 : c == static_cast<unsigned char>(shape);
  });
}

/// Directory of the hardware behind a drive. An NVMe drive that several controllers may lead to is attached
/// to a subsystem: then it is the controller, if there is one only.
fs::path hardware_of(const fs::path& drive) {
  std::error_code failed;
  fs::path device = fs::canonical(drive / "device", failed);
  if (failed) return {};
  if (!device.filename().string().starts_with("nvme-subsys")) return device;
  std::vector<fs::path> controllers;
  for (const std::string& name : names_in(device)) {
    if (names_controller(name)) controllers.push_back(device / name);
  }
  if (controllers.size() != 1) return device;
  fs::path controller = fs::canonical(controllers.front(), failed);
  return failed ? device : controller;
}

/// "16.0 GT/s PCIe" and "4"; words such as "Unknown" are 0.
double transfers_in(const fs::path& file) {
  return std::max(0.0, std::strtod(first_line(file).c_str(), nullptr));
}
int lanes_in(const fs::path& file) {
  constexpr std::int64_t kMostLanes = 32;  // 255 stands for "not known"
  const std::int64_t lanes = first_integer(file).value_or(0);
  return lanes < 0 || lanes > kMostLanes ? 0 : static_cast<int>(lanes);
}

PcieLink link_of(fs::path hardware) {
  for (; hardware.has_relative_path(); hardware = hardware.parent_path()) {
    if (!names_pci_device(hardware.filename().string())) continue;
    return {.lanes = lanes_in(hardware / "current_link_width"),
            .transfers = transfers_in(hardware / "current_link_speed"),
            .lanes_most = lanes_in(hardware / "max_link_width"),
            .transfers_most = transfers_in(hardware / "max_link_speed")};
  }
  return {};
}

std::optional<int> node_of(fs::path hardware) {
  for (; hardware.has_relative_path(); hardware = hardware.parent_path()) {
    const auto node = first_integer(hardware / "numa_node");
    if (!node) continue;
    return *node < 0 ? std::nullopt : std::optional(static_cast<int>(*node));
  }
  return std::nullopt;
}

/// The first hwmon directory with a temperature in it. The sensor of an NVMe drive hangs on its controller
/// or, with older kernels, on the PCI device below; that of a SATA drive (drivetemp) on the SCSI device.
std::string sensor_of(const fs::path& hardware) {
  std::error_code failed;
  for (const char* place : {"", "hwmon", "device/hwmon"}) {
    std::vector<std::string> found;
    for (const std::string& name : names_in(hardware / place)) {
      const fs::path sensor = hardware / place / name;
      if (name.starts_with("hwmon") && fs::exists(sensor / "temp1_input", failed))
        found.push_back(sensor.string());
    }
    if (!found.empty()) return *std::min_element(found.begin(), found.end());
  }
  return {};
}

std::optional<double> degrees_in(const fs::path& file) {
  const auto thousandths = first_integer(file);
  if (!thousandths) return std::nullopt;
  return static_cast<double>(*thousandths) / 1000;
}

}  // namespace

void add_drive_facts(const fs::path& own, const fs::path& drive, BlockDevice& device) {
  device.size = Bytes(first_integer(drive / "size").value_or(0) * kSector);
  if (own != drive) device.begin = Bytes(first_integer(own / "start").value_or(0) * kSector);
  device.mapped = !names_in(drive / "slaves").empty();
  const fs::path hardware = hardware_of(drive);
  if (hardware.empty()) return;
  device.firmware = first_said(hardware, {"firmware_rev", "rev"});
  device.pcie = link_of(hardware);
  device.numa_node = node_of(hardware);
  device.sensor = sensor_of(hardware);
}

std::optional<Temperature> temperature(const std::string& sensor) {
  if (sensor.empty()) return std::nullopt;
  const auto now = degrees_in(fs::path(sensor) / "temp1_input");
  if (!now) return std::nullopt;
  Temperature read{*now, std::nullopt};
  for (const char* name : {"temp1_max", "temp1_crit"}) {
    const auto limit = degrees_in(fs::path(sensor) / name);
    if (limit && *limit > 0 && *limit < kHottestLimit)
      read.limit = std::min(read.limit.value_or(*limit), *limit);
  }
  return read;
}

}  // namespace fulcrum
