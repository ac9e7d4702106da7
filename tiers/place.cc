#include "tiers/place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/errors.h"
#include "tiers/mount.h"

namespace fulcrum {

DeviceIdentity identity_of(int descriptor, const std::string& path) {
  DeviceIdentity identity;
  identity.path = path;
  identity.filesystem = filesystem_of(descriptor);
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) return identity;
  if (const auto device = find_block_device(facts.st_dev)) {
    identity.device = device->name;
    identity.model = device->model;
    identity.serial_hash = device->serial_hash;
    identity.scheduler = device->scheduler;
    identity.firmware = device->firmware;
    identity.pcie = device->pcie;
    identity.numa_node = device->numa_node;
  }
  return identity;
}

Result<DeviceIdentity> identity_at(const std::string& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return os_error(errno, "look at", directory);
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::canonical(directory, failed);
  DeviceIdentity identity = identity_of(descriptor, failed ? directory : absolute.string());
  close(descriptor);
  return identity;
}

}  // namespace fulcrum
