// Where a file lies: filesystem, block device, and what the kernel says about them.
//
// Read from statx, /proc/self/mountinfo and /sys. The roots are parameters, so that tests bring a tree of
// their own. Nothing here fails: what the system does not say is empty.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "fulcrum/profile.h"
#include "fulcrum/units.h"

namespace fulcrum {

/// Type of the filesystem of an open file, as mountinfo names it ("ext4"), or empty.
[[nodiscard]] std::string filesystem_of(int descriptor, const std::string& proc = "/proc");
/// tmpfs, ramfs and the like: bytes rest in the page cache and nowhere else.
[[nodiscard]] bool is_memory_filesystem(int descriptor);

struct BlockDevice {
  std::string name;  ///< of the whole drive, also for a partition: "nvme0n1"
  std::string model;
  std::string serial_hash;  ///< 16 hexadecimal digits, or empty
  std::string scheduler;
  std::optional<bool> rotational;  ///< empty for virtual drives, see FileDevice::rotational
  std::string stat_path;           ///< counters of the partition or drive that holds the file
  std::string firmware;
  PcieLink pcie;                 ///< of the first PCI device above the drive
  std::optional<int> numa_node;  ///< of the nearest device above that names one
  std::string sensor;            ///< directory of its temperature, see temperature()
  bool mapped = false;           ///< made of other block devices (LVM, RAID, encryption)
  Bytes size{};                  ///< of the whole drive; 0: not known
  Bytes begin{};                 ///< where the partition begins on it
};

/// The device behind a device number (st_dev). Empty for numbers that no block device owns: overlay,
/// btrfs, network and memory filesystems.
[[nodiscard]] std::optional<BlockDevice> find_block_device(dev_t number, const std::string& sys = "/sys");

struct Temperature {
  double celsius = 0;
  std::optional<double> limit;  ///< the lower of what the drive names as its warning and critical limits
};

/// Reads a sensor's directory (hwmon: temp1_input, temp1_max, temp1_crit). On NVMe each call is an admin
/// command, which may take milliseconds.
[[nodiscard]] std::optional<Temperature> temperature(const std::string& sensor);

struct DeviceTraffic {
  Bytes read{};
  Bytes written{};
};

/// Bytes moved since boot by the device whose `stat` file this is.
[[nodiscard]] std::optional<DeviceTraffic> device_traffic(const std::string& stat_path);
/// Bytes that this process made the storage layer move. Empty where /proc does not say.
[[nodiscard]] std::optional<DeviceTraffic> process_traffic(const std::string& proc = "/proc");
/// Share of the first `size` bytes of the file that the page cache holds, 0..1.
[[nodiscard]] std::optional<double> resident_share(int descriptor, Bytes size);

}  // namespace fulcrum
