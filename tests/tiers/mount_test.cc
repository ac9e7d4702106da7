// What is read out of /sys and /proc, against trees made here and against this machine.
#include "tiers/mount.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fake_sys.h"

namespace fulcrum::test {
namespace {

TEST_F(FakeSys, APartitionIsNamedAfterItsDriveAndCountedAlone) {
  put_drive("nvme0n1", "0");
  const auto device = find_block_device(makedev(259, 1), root_.path());
  ASSERT_TRUE(device.has_value());
  EXPECT_EQ(device->name, "nvme0n1");
  EXPECT_EQ(device->model, "ACME Flash 2000");
  EXPECT_EQ(device->scheduler, "mq-deadline");
  EXPECT_EQ(device->rotational, std::optional(false));
  const auto traffic = device_traffic(device->stat_path);
  ASSERT_TRUE(traffic.has_value());
  EXPECT_EQ(traffic->read, 4096_B);
  EXPECT_EQ(traffic->written, 8192_B);
}

TEST_F(FakeSys, TheSerialIsHashedAndTheHashTellsDrivesApart) {
  put_drive("sda", "1");
  const auto one = find_block_device(makedev(259, 0), root_.path());
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->serial_hash.size(), 16U);
  EXPECT_EQ(one->serial_hash.find("S123456"), std::string::npos);
  EXPECT_EQ(one->rotational, std::optional(true));
  put("devices/block/sda/device/serial", "S123457\n");
  EXPECT_NE(find_block_device(makedev(259, 0), root_.path())->serial_hash, one->serial_hash);
}

TEST_F(FakeSys, AVirtualDriveDoesNotSayWhetherItTurns) {
  put_drive("vda", "1");
  EXPECT_EQ(find_block_device(makedev(259, 0), root_.path())->rotational, std::nullopt);
}

TEST_F(FakeSys, AnUnknownOrAnonymousDeviceIsNone) {
  put_drive("sda", "1");
  EXPECT_FALSE(find_block_device(makedev(8, 77), root_.path()).has_value());
  EXPECT_FALSE(find_block_device(makedev(0, 40), root_.path()).has_value());
}

TEST_F(FakeSys, BrokenCountersAreNoCounters) {
  put("stat", "10 0 many\n");
  EXPECT_FALSE(device_traffic(root_.path() + "/stat").has_value());
  EXPECT_FALSE(device_traffic(root_.path() + "/absent").has_value());
  put("self/io", "rchar: 1\nread_bytes: 4096\n");
  EXPECT_FALSE(process_traffic(root_.path()).has_value());
  put("self/io", "rchar: 1\nread_bytes: 4096\nwrite_bytes: 12\ncancelled_write_bytes: 0\n");
  EXPECT_EQ(process_traffic(root_.path())->read, 4096_B);
  EXPECT_EQ(process_traffic(root_.path())->written, 12_B);
}

TEST(Mount, NamesTheFilesystemsOfThisMachine) {
  const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(proc, 0);
  EXPECT_EQ(filesystem_of(proc), "proc");
  EXPECT_FALSE(is_memory_filesystem(proc));
  close(proc);
}

TEST(Mount, ResidencyFollowsWhatIsInThePageCache) {
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/half";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, 1 << 20), 0);
  EXPECT_EQ(resident_share(file, 1_MiB), std::optional(0.0));
  const std::string half(1 << 19, 'x');
  ASSERT_EQ(pwrite(file, half.data(), half.size(), 0), static_cast<ssize_t>(half.size()));
  EXPECT_NEAR(resident_share(file, 1_MiB).value_or(-1), 0.5, 0.01);
  close(file);
  EXPECT_EQ(resident_share(-1, 1_MiB), std::nullopt);
}

}  // namespace
}  // namespace fulcrum::test
