// Where on its disk a file lies: the sums on extents made here, the question on a real filesystem.
#include "tiers/disk_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "tests/support/scratch.h"
#include "tiers/file_device.h"

namespace fulcrum::test {
namespace {

BlockDevice disk() {
  BlockDevice made;
  made.name = "sda";
  made.size = 1000_GiB;
  made.begin = 100_GiB;
  return made;
}

TEST(DiskPlace, CountsFromTheDisksFirstByteAndWeighsByLength) {
  const std::vector<FileExtent> extents = {{10_GiB, 1_GiB}, {50_GiB, 3_GiB}};
  const auto place = place_of(extents, disk());
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->first, 110_GiB);
  EXPECT_EQ(place->last, 153_GiB);
  EXPECT_EQ(place->pieces, 2);
  EXPECT_NEAR(place->share(), (110.5 * 1 + 151.5 * 3) / 4 / 1000, 1e-9);
}

TEST(DiskPlace, SaysNothingWhereItCannotKnow) {
  const std::vector<FileExtent> extents = {{10_GiB, 1_GiB}};
  BlockDevice mapped = disk();
  mapped.mapped = true;
  EXPECT_EQ(place_of(extents, mapped).error().kind, ErrorKind::unsupported);
  BlockDevice unknown = disk();
  unknown.size = 0_B;
  EXPECT_TRUE(place_of(extents, unknown).has_error());
  EXPECT_TRUE(place_of({}, disk()).has_error());
  const std::vector<FileExtent> beyond = {{950_GiB, 1_GiB}};
  EXPECT_TRUE(place_of(beyond, disk()).has_error()) << "behind the end of the disk";
}

TEST(DiskPlace, ARealFileLiesOnItsDiskOrTheAnswerSaysWhyNot) {
  const ScratchDirectory scratch;
  FileDeviceOptions options;
  options.size = 8_MiB;
  const auto device = FileDevice::open(scratch.path(), options);
  ASSERT_TRUE(device.has_value());
  const auto place = (*device)->disk_place();
  if (place.has_error()) {
    EXPECT_EQ(place.error().kind, ErrorKind::unsupported);
    EXPECT_FALSE(place.error().detail.empty());
    return;
  }
  EXPECT_GT(place->first, 0_B);
  EXPECT_GE(place->last - place->first, 8_MiB);
  EXPECT_LE(place->last, place->disk);
}

TEST(DiskPlace, AFileOfNoDiskHasNoPlace) {
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(disk_place(file).error().kind, ErrorKind::unsupported);
  close(file);
}

}  // namespace
}  // namespace fulcrum::test
