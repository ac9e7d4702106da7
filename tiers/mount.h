// Where a file lies: filesystem, block device, and what the kernel says about them.
//
// Read from statx, /proc/self/mountinfo and /sys. The roots are parameters, so that tests bring a tree of
// their own. Nothing here fails: what the system does not say is empty.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

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
};

/// The device behind a device number (st_dev). Empty for numbers that no block device owns: overlay,
/// btrfs, network and memory filesystems.
[[nodiscard]] std::optional<BlockDevice> find_block_device(dev_t number, const std::string& sys = "/sys");

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
