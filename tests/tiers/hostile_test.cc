// FileDevice on hostile ground: full disks, limits, missing rights, a file cut short, a killed process.
//
// What changes limits, users or mounts runs in a child process, in a mount namespace of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>

#include "tests/support/hostile_ground.h"
#include "tests/support/scratch.h"
#include "tests/tiers/open_attempt.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_device.h"

namespace fulcrum::test {
namespace {

TEST(HostileGround, AMissingDirectoryIsNamed) {
  const std::string text = message_of("/no/such/directory", {.size = 1_MiB}, ErrorKind::not_found);
  EXPECT_TRUE(says(text, "/no/such/directory")) << text;
}

TEST(HostileGround, AFileIsNoDirectory) {
  EXPECT_TRUE(says(message_of("/proc/self/exe", {.size = 1_MiB}, ErrorKind::not_found), "/proc/self/exe"));
}

TEST(HostileGround, AnUnwritableDirectoryIsAPermissionError) {
  const ScratchDirectory directory("/tmp");
  chmod(directory.path().c_str(), 0555);
  const std::string text = in_child([&] {
    if (getuid() == 0 && !become_nobody()) return std::string("skip: cannot become another user");
    return message_of(directory.path(), {.size = 1_MiB}, ErrorKind::permission);
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, directory.path())) << text;
}

TEST(HostileGround, AReadOnlyMountIsNamedAsSuch) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_tmpfs(directory.path(), "size=1m", MS_RDONLY); !why.empty())
      return why;
    return message_of(directory.path(), {.size = 1_MiB}, ErrorKind::read_only);
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, directory.path())) << text;
}

TEST(HostileGround, AFullDiskNamesTheBytesThatAreMissing) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_tmpfs(directory.path(), "size=1m"); !why.empty()) return why;
    return message_of(directory.path(), {.size = 4_MiB}, ErrorKind::no_space);
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "needs 4194304 bytes, 1048576 are free: 3145728 bytes short")) << text;
}

TEST(HostileGround, ADiskThatFillsUpLaterFailsTheWriteAndNothingElse) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_tmpfs(directory.path(), "size=1m"); !why.empty()) return why;
    for (const EngineChoice engine : {EngineChoice::automatic, EngineChoice::threads}) {
      auto opened =
          FileDevice::open(directory.path(), {.size = 4_MiB, .engine = engine, .preallocate = false});
      if (opened.has_error()) return opened.error().message();
      auto memory = AlignedBuffer::allocate(std::size_t{2} << 20);
      const IoCompletion full = run(**opened, IoKind::write, 0, memory->span());
      if (!full.result.has_error() || full.result.error().kind != ErrorKind::no_space)
        return std::string("not full");
      const IoCompletion next = run(**opened, IoKind::read, 0, memory->span().first(4096));
      if (next.result.has_error()) return "read after it: " + next.result.error().message();
    }
    return std::string("good");
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text, "good");
}

TEST(HostileGround, MemoryIsNotTakenForADrive) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_tmpfs(directory.path(), "size=4m"); !why.empty()) return why;
    auto opened = FileDevice::open(directory.path(), {.size = 1_MiB});
    if (opened.has_error()) return opened.error().message();
    FileDevice& device = **opened;
    if (device.mode().direct || !device.in_memory() || device.rotational())
      return std::string("called a drive");
    auto memory = AlignedBuffer::allocate(std::size_t{1} << 20);
    if (run(device, IoKind::write, 0, memory->span()).result.has_error()) return std::string("write failed");
    const DeviceEvidence evidence = device.evidence();
    if (evidence.known || evidence.resident_share < 0.99) return std::string("false evidence");
    if (device.identity().filesystem != "tmpfs" || !device.identity().device.empty())
      return std::string("identity");
    if (device.drop_cache().error().kind != ErrorKind::unsupported) return std::string("dropped");
    if (!says(device.fallback_reason(), "kept in memory")) return device.fallback_reason();
    return message_of(directory.path(), {.size = 1_MiB, .direct = DirectChoice::direct},
                      ErrorKind::unsupported);
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "kept in memory")) << text;
}

TEST(HostileGround, NoDescriptorForTheFileIsAFileLimit) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    set_limit(RLIMIT_NOFILE, 3);
    return message_of(directory.path(), {.size = 1_MiB}, ErrorKind::file_limit);
  });
  EXPECT_TRUE(says(text, "ulimit -n")) << text;
}

TEST(HostileGround, NoDescriptorForTheRingFallsBackToThreadsAndSaysSo) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit one_more{static_cast<rlim_t>(next) + 1, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &one_more);
    auto opened = FileDevice::open(directory.path(), {.size = 1_MiB});
    setrlimit(RLIMIT_NOFILE, &before);  // sanitizers need descriptors of their own
    if (opened.has_error()) return opened.error().message();
    auto memory = AlignedBuffer::allocate(4096);
    if (run(**opened, IoKind::write, 0, memory->span()).result.has_error())
      return std::string("write failed");
    return (*opened)->mode().uring ? std::string("no limit was met") : (*opened)->fallback_reason();
  });
  EXPECT_TRUE(says(text, "io_uring")) << text;
}

/// Opens a device as a user who may lock `lockable` bytes, and moves a MiB through it.
std::string use_with_lockable(const std::string& directory, rlim_t lockable, bool register_memory) {
  set_limit(RLIMIT_MEMLOCK, lockable);
  if (getuid() == 0 && !become_nobody()) return "skip: cannot become another user";
  auto opened = FileDevice::open(directory, {.size = 1_MiB, .depth_max = 8});
  if (opened.has_error()) return opened.error().message();
  FileDevice& device = **opened;
  auto memory = AlignedBuffer::allocate(std::size_t{1} << 20);
  std::string said = device.fallback_reason();
  if (register_memory) {
    if (!device.mode().uring) return "skip: " + said;
    const Result<void> registered = device.register_buffers(memory->span());
    if (!registered.has_error()) return "registered";
    said = registered.error().message();
  }
  const IoCompletion done = run(device, IoKind::write, 0, memory->span());
  return done.result.has_error() ? done.result.error().message()
                                 : "uring " + std::to_string(device.mode().uring) + said;
}

TEST(HostileGround, NoLockableMemoryAtAllIsLivedWith) {
  const ScratchDirectory directory("/tmp");
  chmod(directory.path().c_str(), 0777);
  const std::string text = in_child([&] { return use_with_lockable(directory.path(), 0, false); });
  FULCRUM_SKIP_IF_TOLD(text);
  // Newer kernels charge the ring itself: then threads do the work, and the reason names the limit.
  EXPECT_TRUE(text.starts_with("uring 1") || (text.starts_with("uring 0") && says(text, "ulimit -l")))
      << text;
}

TEST(HostileGround, LittleLockableMemoryCostsRegistrationOnly) {
  const ScratchDirectory directory("/tmp");
  chmod(directory.path().c_str(), 0777);
  const std::string text = in_child([&] { return use_with_lockable(directory.path(), 256 << 10, true); });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(text.starts_with("uring 1") && says(text, "ulimit -l")) << text;
}

TEST(HostileGround, TheFileSizeLimitIsAnErrorAndNotASignal) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    set_limit(RLIMIT_FSIZE, 65536);
    return message_of(directory.path(), {.size = 1_MiB}, ErrorKind::no_space);
  });
  EXPECT_TRUE(says(text, "65536") && says(text, "ulimit -f")) << text;
}

TEST(HostileGround, AFileCutShortFailsItsReadsAndHangsNothing) {
  for (const EngineChoice engine : {EngineChoice::automatic, EngineChoice::threads}) {
    for (const DirectChoice direct : {DirectChoice::automatic, DirectChoice::buffered}) {
      const ScratchDirectory directory;
      auto opened = FileDevice::open(directory.path(), {.size = 1_MiB, .direct = direct, .engine = engine});
      ASSERT_FALSE(opened.has_error()) << opened.error().message();
      auto memory = AlignedBuffer::allocate(std::size_t{64} << 10);
      const int stolen = second_descriptor(directory.path());
      ASSERT_GE(stolen, 0);
      ASSERT_EQ(ftruncate(stolen, 4096 + 700), 0);
      close(stolen);
      for (const std::int64_t offset : {0, 4096, 131072}) {
        const IoCompletion done = run(**opened, IoKind::read, offset, memory->span());
        ASSERT_TRUE(done.result.has_error()) << offset;
        EXPECT_EQ(done.result.error().kind, ErrorKind::device) << done.result.error().message();
      }
      EXPECT_GE((*opened)->counters().resumed, 1U);
      EXPECT_FALSE(run(**opened, IoKind::read, 0, memory->span().first(4096)).result.has_error());
    }
  }
}

TEST(HostileGround, AKilledProcessLeavesNothingBehind) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    auto opened = FileDevice::open(directory.path(), {.size = 16_MiB});
    if (opened.has_error()) return opened.error().message();
    auto memory = AlignedBuffer::allocate(std::size_t{16} << 20);
    if ((*opened)->submit({IoKind::write, 0, memory->span(), 1}).has_error())
      return std::string("not submitted");
    raise(SIGKILL);
    return std::string("survived");
  });
  EXPECT_EQ(text, "died: ");
  EXPECT_TRUE(directory.empty());
}

}  // namespace
}  // namespace fulcrum::test
