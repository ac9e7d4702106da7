// Atomic file write and whole-file read, on real files and real failures.
#include "base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace fulcrum {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "fulcrum_atomic_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  std::string directory_;
};

TEST_F(AtomicFile, ReplacesTheWholeContents) {
  ASSERT_TRUE(write_file_atomically(path("a"), std::string(100000, 'x')));
  ASSERT_TRUE(write_file_atomically(path("a"), "short"));
  EXPECT_EQ(*read_file(path("a")), "short");
  EXPECT_EQ(entries(), 1U) << "no temporary is left";
}

TEST_F(AtomicFile, KeepsEveryByte) {
  std::string all;
  for (int i = 0; i < 256 * 1000; ++i) all.push_back(static_cast<char>(i));
  ASSERT_TRUE(write_file_atomically(path("a"), all));
  EXPECT_EQ(*read_file(path("a")), all);
  ASSERT_TRUE(write_file_atomically(path("a"), ""));
  EXPECT_EQ(*read_file(path("a")), "");
}

TEST_F(AtomicFile, FollowsTheUmask) {
  const mode_t before = umask(027);
  ASSERT_TRUE(write_file_atomically(path("a"), "x"));
  umask(before);
  EXPECT_EQ(fs::status(path("a")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
}

TEST_F(AtomicFile, NamesAMissingDirectory) {
  const auto result = write_file_atomically(path("no/such/file"), "x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::not_found);
  EXPECT_NE(result.error().message().find("no/such/file"), std::string::npos);
}

TEST_F(AtomicFile, RefusesWhatIsNoRegularFile) {
  EXPECT_EQ(write_file_atomically(directory_, "x").error().kind, ErrorKind::bad_input);
  const auto device = write_file_atomically("/dev/null", "x");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(fs::is_character_file("/dev/null")) << "a rename would have replaced it";
}

TEST_F(AtomicFile, StepsOverTheTemporaryOfACrashedProcess) {
  for (int i = 0; i < 200; ++i) {
    std::ofstream(path("a.tmp-" + std::to_string(getpid()) + "-" + std::to_string(i))) << "half";
  }
  ASSERT_TRUE(write_file_atomically(path("a"), "whole"));
  EXPECT_EQ(*read_file(path("a")), "whole");
  EXPECT_EQ(entries(), 201U);
}

TEST_F(AtomicFile, AKilledWriterLeavesTheOldFileOrTheNewOne) {
  const std::string old_text(300000, 'o');
  const std::string new_text(400000, 'n');
  ASSERT_TRUE(write_file_atomically(path("a"), old_text));
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) (void)write_file_atomically(path("a"), new_text);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto text = read_file(path("a"));
    ASSERT_TRUE(text);
    ASSERT_TRUE(*text == old_text || *text == new_text) << "torn in round " << round;
  }
}

TEST_F(AtomicFile, AReaderNeverSeesHalfAFile) {
  ASSERT_TRUE(write_file_atomically(path("a"), std::string(50000, '0')));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 1; i < 100; ++i)
      (void)write_file_atomically(path("a"), std::string(50000, static_cast<char>('0' + i % 10)));
    stop = true;
  });
  while (!stop) {
    const auto text = read_file(path("a"));
    ASSERT_TRUE(text);
    ASSERT_EQ(*text, std::string(50000, text->front()));
  }
  writer.join();
}

/// A 1 MiB filesystem of its own, in a mount namespace that ends with the child process. `check` returns 0
/// for success. Skips where the kernel forbids mounts.
template <class Check>
void on_small_filesystem(const std::string& directory, const char* options, Check check) {
  constexpr int kNoMount = 99;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool alone =
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!alone || mount("tmpfs", directory.c_str(), "tmpfs", 0, options) != 0) _exit(kNoMount);
    _exit(check());
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoMount) GTEST_SKIP() << "mounting a tmpfs needs CAP_SYS_ADMIN";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(AtomicFile, AFullDiskLeavesTheOldFileAndNoTemporary) {
  on_small_filesystem(directory_, "size=1m", [this] {
    if (!write_file_atomically(path("a"), "old")) return 1;
    const auto result = write_file_atomically(path("a"), std::string(2 << 20, 'x'));
    if (result || result.error().kind != ErrorKind::no_space) return 2;
    if (result.error().where != path("a")) return 3;
    if (*read_file(path("a")) != "old") return 4;
    return entries() == 1 ? 0 : 5;
  });
}

TEST_F(AtomicFile, AReadOnlyFilesystemIsNamedAsSuch) {
  on_small_filesystem(directory_, "size=1m", [this] {
    if (!write_file_atomically(path("a"), "old")) return 1;
    if (mount("none", directory_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 2;
    const auto result = write_file_atomically(path("a"), "new");
    if (result || result.error().kind != ErrorKind::read_only) return 3;
    return *read_file(path("a")) == "old" ? 0 : 4;
  });
}

TEST_F(AtomicFile, AKernelDirectoryRefusesWithoutDamage) {
  const auto result = write_file_atomically("/proc/fulcrum_test", "x");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().kind, ErrorKind::internal) << result.error().message();
}

TEST_F(AtomicFile, ReadingNamesWhatIsMissingTooLargeOrADirectory) {
  EXPECT_EQ(read_file(path("none")).error().kind, ErrorKind::not_found);
  EXPECT_EQ(read_file(directory_).error().kind, ErrorKind::bad_input);
  ASSERT_TRUE(write_file_atomically(path("a"), "12345"));
  EXPECT_TRUE(read_file(path("a"), 5));
  const auto large = read_file(path("a"), 4);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(read_file("/dev/zero", 1000).error().kind, ErrorKind::bad_input) << "an endless file must end";
}

}  // namespace
}  // namespace fulcrum
