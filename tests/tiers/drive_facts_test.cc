// Firmware, PCIe link, NUMA node and temperature of a drive, from trees as the kernel lays them out.
#include <sys/sysmacros.h>

#include "fake_sys.h"
#include "tiers/mount.h"

namespace fulcrum::test {
namespace {

const std::string kPort = "devices/pci0000:3a/0000:3a:00.0";
const std::string kSlot = kPort + "/0000:3b:00.0";
const std::string kController = kSlot + "/nvme/nvme0";

class DriveFacts : public FakeSys {
 protected:
  void put_link(const std::string& device, const std::string& lanes, const std::string& speed) {
    put(device + "/current_link_width", lanes + "\n");
    put(device + "/current_link_speed", speed + "\n");
    put(device + "/max_link_width", "4\n");
    put(device + "/max_link_speed", "16.0 GT/s PCIe\n");
  }
  void put_controller() {
    put_link(kPort, "16", "32.0 GT/s PCIe");  // the port's own link must not be taken for the drive's
    put_link(kSlot, "4", "8.0 GT/s PCIe");
    put(kPort + "/numa_node", "0\n");
    put(kSlot + "/numa_node", "1\n");
    put(kController + "/firmware_rev", "GXA7601Q\n");
  }
  void put_nvme() {
    put_controller();
    put(kController + "/nvme0n1/size", "7501476528\n");
    put(kController + "/nvme0n1/nvme0n1p2/partition", "2\n");
    put(kController + "/nvme0n1/nvme0n1p2/start", "2048\n");
    link(kController + "/nvme0n1/device", kController);
    link("dev/block/259:2", kController + "/nvme0n1/nvme0n1p2");
  }
  [[nodiscard]] BlockDevice drive(unsigned number) const {
    return find_block_device(makedev(259, number), root_.path()).value_or(BlockDevice());
  }
};

TEST_F(DriveFacts, AnNvmeDriveSaysItsFirmwareLinkAndNode) {
  put_nvme();
  const BlockDevice found = drive(2);
  EXPECT_EQ(found.name, "nvme0n1");
  EXPECT_EQ(found.firmware, "GXA7601Q");
  EXPECT_EQ(found.pcie, (PcieLink{4, 8.0, 4, 16.0})) << "its own link, not that of the port above";
  EXPECT_EQ(found.numa_node, std::optional(1));
  EXPECT_EQ(found.size, Bytes(7501476528 * 512));
  EXPECT_EQ(found.begin, 1_MiB);
  EXPECT_FALSE(found.mapped);
}

TEST_F(DriveFacts, ADriveWithSeveralPossiblePathsIsThatOfItsOnlyController) {
  put_controller();
  const std::string subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0";
  put(subsystem + "/nvme0n1/size", "1000\n");
  link(subsystem + "/nvme0n1/device", subsystem);
  link(subsystem + "/nvme0", kController);
  link("dev/block/259:0", subsystem + "/nvme0n1");
  EXPECT_EQ(drive(0).firmware, "GXA7601Q");
  EXPECT_EQ(drive(0).numa_node, std::optional(1));
  put("devices/other/nvme1/firmware_rev", "OTHER\n");
  link(subsystem + "/nvme1", "devices/other/nvme1");
  EXPECT_EQ(drive(0).firmware, "") << "two controllers: which one serves a request is not known";
  EXPECT_FALSE(drive(0).pcie.known());
}

TEST_F(DriveFacts, ASataDriveSaysItsRevisionAndItsControllersLink) {
  const std::string scsi = "devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";
  put("devices/pci0000:00/0000:00:17.0/numa_node", "-1\n");
  put_link("devices/pci0000:00/0000:00:17.0", "255", "Unknown");
  put(scsi + "/rev", "SC61\n");
  put(scsi + "/hwmon/hwmon2/temp1_input", "33000\n");
  put(scsi + "/block/sda/queue/rotational", "1\n");
  link(scsi + "/block/sda/device", scsi);
  link("dev/block/259:0", scsi + "/block/sda");
  const BlockDevice found = drive(0);
  EXPECT_EQ(found.firmware, "SC61");
  EXPECT_FALSE(found.pcie.known()) << "words and 255 lanes are no link";
  EXPECT_EQ(found.numa_node, std::nullopt) << "-1 is no node";
  ASSERT_TRUE(temperature(found.sensor).has_value());
  EXPECT_EQ(temperature(found.sensor)->celsius, 33);
  EXPECT_EQ(temperature(found.sensor)->limit, std::nullopt);
}

TEST_F(DriveFacts, ADriveThatSaysNothingHasNoFacts) {
  put_drive("vda", "1");
  const BlockDevice found = drive(1);
  EXPECT_EQ(found.firmware, "");
  EXPECT_EQ(found.pcie, PcieLink());
  EXPECT_EQ(found.numa_node, std::nullopt);
  EXPECT_EQ(found.sensor, "");
  EXPECT_EQ(found.size, 0_B);
  EXPECT_EQ(temperature(found.sensor), std::nullopt);
}

TEST_F(DriveFacts, TheSensorIsFoundWhereverTheKernelHangsIt) {
  put_nvme();
  EXPECT_EQ(drive(2).sensor, "");
  put(kSlot + "/hwmon/hwmon1/temp1_input", "41850\n");
  link(kController + "/device", kSlot);
  EXPECT_EQ(temperature(drive(2).sensor)->celsius, 41.85) << "older kernels: on the PCI device";
  put(kController + "/hwmon3/temp1_input", "42850\n");
  EXPECT_EQ(temperature(drive(2).sensor)->celsius, 42.85);
}

TEST_F(DriveFacts, TheLowerLimitCountsAndAbsurdOnesDoNot) {
  put("sensor/temp1_input", "70000\n");
  put("sensor/temp1_crit", "84850\n");
  const std::string sensor = root_.path() + "/sensor";
  EXPECT_EQ(temperature(sensor)->limit, std::optional(84.85));
  put("sensor/temp1_max", "81850\n");
  EXPECT_EQ(temperature(sensor)->limit, std::optional(81.85));
  put("sensor/temp1_max", "65261850\n");  // what drives without a limit say
  EXPECT_EQ(temperature(sensor)->limit, std::optional(84.85));
  put("sensor/temp1_input", "\n");
  EXPECT_EQ(temperature(sensor), std::nullopt);
}

TEST_F(DriveFacts, ADriveMadeOfOthersIsMapped) {
  put_drive("dm-0", "1");
  EXPECT_FALSE(drive(0).mapped);
  put("devices/block/dm-0/slaves/sda1/size", "100\n");
  EXPECT_TRUE(drive(0).mapped);
}

}  // namespace
}  // namespace fulcrum::test
