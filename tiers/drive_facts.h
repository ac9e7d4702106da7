// What /sys says about a drive beyond its name: firmware, link, NUMA node, sensor, extent.
#pragma once

#include <filesystem>

#include "tiers/mount.h"

namespace fulcrum {

/// `own` is the directory of the partition that holds a file, `drive` that of the whole drive; they are the
/// same where there are no partitions. Fills what find_block_device() leaves open.
void add_drive_facts(const std::filesystem::path& own, const std::filesystem::path& drive,
                     BlockDevice& device);

}  // namespace fulcrum
