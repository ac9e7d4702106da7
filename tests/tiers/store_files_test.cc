// The files of a store: what is made, what is kept, what is mended, what is refused and left as it is.
#include "tiers/store_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/scratch.h"
#include "tests/tiers/open_attempt.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_device.h"

namespace fulcrum::test {
namespace {

namespace fs = std::filesystem;

constexpr StoreFilesOptions kLayout{.head = 64_KiB, .piece = 1_MiB, .pieces = 4};

Result<std::unique_ptr<FileDevice>> open_in(const std::string& directory,
                                            const StoreFilesOptions& layout = kLayout) {
  return FileDevice::open_store(directory, layout, {.depth_max = 16, .threads_max = 4});
}

/// The message of an open that must fail with this kind, or what happened instead.
std::string refusal(const std::string& directory, ErrorKind expected,
                    const StoreFilesOptions& layout = kLayout) {
  const auto opened = StoreFiles::open(directory, layout);
  if (opened.has_value()) return "opened";
  if (opened.error().kind != expected) return "wrong kind: " + opened.error().message();
  return opened.error().message();
}

std::string segment(const ScratchDirectory& directory, int number) {
  return directory.path("segments/00000" + std::to_string(number));
}

fs::perms mode_of(const std::string& path) {
  return fs::status(path).permissions();
}

class StoreFilesTest : public testing::Test {
 protected:
  void SetUp() override { Random(77).fill(pattern_.span()); }
  /// Writes the pattern at the start of each segment and of the head.
  void fill(Device& device) {
    for (const std::int64_t offset : starts_) {
      ASSERT_FALSE(run(device, IoKind::write, offset, pattern_.span()).result.has_error());
    }
    ASSERT_FALSE(device.sync().has_error());
  }
  bool holds(Device& device, std::int64_t offset) {
    const IoCompletion done = run(device, IoKind::read, offset, seen_.span());
    EXPECT_FALSE(done.result.has_error()) << done.result.error().message();
    return std::ranges::equal(pattern_.span(), seen_.span());
  }
  bool zeros(Device& device, std::int64_t offset) {
    const IoCompletion done = run(device, IoKind::read, offset, seen_.span());
    EXPECT_FALSE(done.result.has_error()) << done.result.error().message();
    return std::ranges::all_of(seen_.span(), [](std::byte b) { return b == std::byte{0}; });
  }

  ScratchDirectory directory_;
  AlignedBuffer pattern_ = *AlignedBuffer::allocate(16384);
  AlignedBuffer seen_ = *AlignedBuffer::allocate(16384);
  const std::vector<std::int64_t> starts_ = {0, 65536, 65536 + (1 << 20), 65536 + (2 << 20),
                                             65536 + (3 << 20)};
};

TEST_F(StoreFilesTest, AreMadeWithTheirFullSizeAndTakeNoSpaceButForTheHead) {
  const auto device = open_in(directory_.path());
  ASSERT_TRUE(device.has_value()) << device.error().message();
  EXPECT_EQ((*device)->geometry().capacity, 64_KiB + 4_MiB);
  EXPECT_EQ((*device)->geometry().head, 64_KiB);
  EXPECT_EQ((*device)->geometry().piece, 1_MiB);
  EXPECT_EQ((*device)->geometry().alignment, 4096U);
  EXPECT_EQ(fs::file_size(directory_.path("meta")), 65536U);
  EXPECT_EQ(fs::file_size(segment(directory_, 3)), 1U << 20);
  EXPECT_EQ(mode_of(directory_.path("segments")), fs::perms::owner_all);
  const fs::perms mine = fs::perms::owner_read | fs::perms::owner_write;
  EXPECT_EQ(mode_of(directory_.path("meta")), mine);
  EXPECT_EQ(mode_of(segment(directory_, 0)), mine);
  const auto found = StoreFiles::look_at(directory_.path());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->head, 64_KiB);
  EXPECT_EQ(found->piece, 1_MiB);
  EXPECT_EQ(found->pieces, 4U);
  EXPECT_LT(found->allocated, 256_KiB);
}

TEST_F(StoreFilesTest, TakeSpaceWhereItIsAskedFor) {
  const auto device = open_in(directory_.path());
  ASSERT_TRUE(device.has_value()) << device.error().message();
  if (!(*device)->fallback_reason().empty() && says((*device)->fallback_reason(), "space:")) GTEST_SKIP();
  const IoRequest space{
      .kind = IoKind::allocate, .offset = starts_[2], .buffer = {}, .tag = 1, .length = (1_MiB).value()};
  ASSERT_FALSE((*device)->submit(space).has_error());
  IoCompletion done;
  ASSERT_EQ(*(*device)->poll({&done, 1}, 20_s), 1U);
  EXPECT_FALSE(done.result.has_error());
  struct stat facts {};
  ASSERT_EQ(stat(segment(directory_, 1).c_str(), &facts), 0);
  EXPECT_GE(facts.st_blocks * 512, 1 << 20);
  ASSERT_EQ(stat(segment(directory_, 2).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_blocks, 0);
}

TEST_F(StoreFilesTest, KeepTheirBytesFromOneOpeningToTheNext) {
  {
    const auto device = open_in(directory_.path());
    ASSERT_TRUE(device.has_value()) << device.error().message();
    fill(**device);
  }
  const auto device = open_in(directory_.path());
  ASSERT_TRUE(device.has_value()) << device.error().message();
  for (const std::int64_t offset : starts_) EXPECT_TRUE(holds(**device, offset)) << offset;
}

TEST_F(StoreFilesTest, AMissingSegmentIsMadeAnewAndACutOneGrownAgain) {
  fill(**open_in(directory_.path()));
  fs::remove(segment(directory_, 1));
  fs::resize_file(segment(directory_, 2), 5000);
  fs::resize_file(segment(directory_, 3), 0);
  const auto device = open_in(directory_.path());
  ASSERT_TRUE(device.has_value()) << device.error().message();
  EXPECT_TRUE(holds(**device, starts_[0]));
  EXPECT_TRUE(holds(**device, starts_[1]));
  EXPECT_TRUE(zeros(**device, starts_[2]));
  EXPECT_FALSE(holds(**device, starts_[3]));
  EXPECT_TRUE(zeros(**device, starts_[3] + (1 << 19)));
  EXPECT_TRUE(zeros(**device, starts_[4]));
}

TEST_F(StoreFilesTest, FilesOfAnotherLayoutAreRefusedAndLeftAsTheyAre) {
  fill(**open_in(directory_.path()));
  StoreFilesOptions other = kLayout;
  for (const Bytes piece : {512_KiB, 2_MiB}) {
    other.piece = piece;
    other.head = 128_KiB;
    const std::string text = refusal(directory_.path(), ErrorKind::mismatch, other);
    EXPECT_TRUE(says(text, "bytes, and") && says(text, "use the capacity")) << text;
  }
  other = kLayout;
  other.pieces = 2;
  EXPECT_TRUE(says(refusal(directory_.path(), ErrorKind::mismatch, other), "segments/00000")) << "fewer";
  const auto device = open_in(directory_.path());
  ASSERT_TRUE(device.has_value()) << device.error().message();
  for (const std::int64_t offset : starts_) EXPECT_TRUE(holds(**device, offset)) << offset;
}

TEST_F(StoreFilesTest, SegmentsBeyondTheLayoutThatWereNeverUsedAreNoObstacle) {
  ASSERT_TRUE(open_in(directory_.path()).has_value());
  StoreFilesOptions fewer = kLayout;
  fewer.pieces = 2;
  EXPECT_TRUE(StoreFiles::open(directory_.path(), fewer).has_value());
}

TEST_F(StoreFilesTest, OneDeviceHoldsADirectoryAtATime) {
  auto first = open_in(directory_.path());
  ASSERT_TRUE(first.has_value()) << first.error().message();
  ASSERT_NE((*first)->owner(), nullptr);
  EXPECT_EQ((*first)->owner()->pid, getpid());
  EXPECT_TRUE(says(refusal(directory_.path(), ErrorKind::busy), (*first)->owner()->describe()));
  first->reset();
  EXPECT_TRUE(open_in(directory_.path()).has_value());
}

TEST_F(StoreFilesTest, OneDeviceHoldsADirectoryAlsoWhereItsLockFileIsDeleted) {
  auto first = open_in(directory_.path());
  ASSERT_TRUE(first.has_value()) << first.error().message();
  fs::remove(directory_.path("LOCK"));
  EXPECT_TRUE(says(refusal(directory_.path(), ErrorKind::busy), "LOCK was deleted"));
  StoreFilesOptions reading = kLayout;
  reading.read_only = true;
  EXPECT_TRUE(says(refusal(directory_.path(), ErrorKind::busy, reading), "LOCK was deleted"));
  StoreFilesOptions other = kLayout;
  other.piece = 2_MiB;
  EXPECT_TRUE(says(refusal(directory_.path(), ErrorKind::busy, other), "LOCK was deleted"))
      << "before the layout is looked at: who may replace the store would delete it";
  first->reset();
  EXPECT_TRUE(open_in(directory_.path()).has_value());
}

TEST_F(StoreFilesTest, ADirectoryThatIsNotThereIsNotMade) {
  const std::string text = refusal(directory_.path("absent"), ErrorKind::not_found);
  EXPECT_TRUE(says(text, directory_.path("absent"))) << text;
  EXPECT_FALSE(fs::exists(directory_.path("absent")));
  EXPECT_TRUE(says(refusal("/proc/self/exe", ErrorKind::not_found), "/proc/self/exe"));
}

TEST_F(StoreFilesTest, SizesThatMakeNoSenseAreRefused) {
  for (const StoreFilesOptions& wrong :
       {StoreFilesOptions{.head = 0_B, .piece = 1_MiB, .pieces = 1},
        StoreFilesOptions{.head = 4096_B, .piece = 5000_B, .pieces = 1},
        StoreFilesOptions{.head = 4096_B, .piece = 1_MiB, .pieces = 0},
        StoreFilesOptions{.head = 4096_B, .piece = 4096_B, .pieces = 1000000}}) {
    EXPECT_TRUE(says(refusal(directory_.path(), ErrorKind::bad_input, wrong), "use"));
  }
  EXPECT_TRUE(directory_.empty());
}

TEST_F(StoreFilesTest, WhatIsNoFileIsNotFollowed) {
  fs::create_directory(directory_.path("segments"));
  const std::string victim = directory_.write("victim", "precious");
  fs::create_symlink(victim, segment(directory_, 0));
  EXPECT_TRUE(says(refusal(directory_.path(), ErrorKind::bad_input), "no regular file"));
  EXPECT_EQ(fs::file_size(victim), 8U);
}

TEST_F(StoreFilesTest, AReaderChangesNothingAndFindsZerosInPlaceOfWhatIsMissing) {
  StoreFilesOptions reading = kLayout;
  reading.read_only = true;
  EXPECT_TRUE(says(refusal(directory_.path(), ErrorKind::not_found, reading), "there is none"));
  EXPECT_TRUE(directory_.empty());
  fill(**open_in(directory_.path()));
  fs::remove(segment(directory_, 1));
  const auto device = open_in(directory_.path(), reading);
  ASSERT_TRUE(device.has_value()) << device.error().message();
  EXPECT_EQ((*device)->owner(), nullptr);
  EXPECT_TRUE(holds(**device, starts_[1]));
  EXPECT_TRUE(zeros(**device, starts_[2]));
  EXPECT_TRUE(run(**device, IoKind::write, starts_[1], pattern_.span()).result.has_error());
  EXPECT_FALSE(fs::exists(segment(directory_, 1)));
}

TEST_F(StoreFilesTest, ErrorsNameTheFileAndTheOffsetInIt) {
  const auto device = open_in(directory_.path());
  ASSERT_TRUE(device.has_value());
  fs::resize_file(segment(directory_, 2), 0);  // behind its back
  const IoCompletion done = run(**device, IoKind::read, starts_[3] + 8192, seen_.span());
  ASSERT_TRUE(done.result.has_error());
  EXPECT_TRUE(says(done.result.error().message(), "segments/000002 at offset 8192"))
      << done.result.error().message();
}

}  // namespace
}  // namespace fulcrum::test
