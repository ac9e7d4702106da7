// FileDevice where the kernel or the filesystem refuses a feature: each is done without, and said.
//
// A seccomp filter in a child process plays the poorer system: it answers chosen system calls with an errno.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

#include "tests/support/hostile_ground.h"
#include "tests/support/scratch.h"
#include "tests/tiers/open_attempt.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum::test {
namespace {

/// Opens a device under that refusal, moves a block, and returns "uring,direct: reason" or an error.
std::string use_under(const Refusal& refusal, const std::string& directory) {
  if (!refuse(refusal)) return "skip: no seccomp here";
  auto opened = FileDevice::open(directory, {.size = 1_MiB});
  if (opened.has_error()) return opened.error().message();
  FileDevice& device = **opened;
  if (!std::filesystem::is_empty(directory)) return "a file is in sight";
  auto memory = AlignedBuffer::allocate(4096);
  for (const IoKind kind : {IoKind::write, IoKind::read}) {
    const IoCompletion done = run(device, kind, 8192, memory->span());
    if (done.result.has_error()) return done.result.error().message();
  }
  return std::string(device.mode().uring ? "uring," : "threads,") +
         (device.mode().direct ? "direct: " : "buffered: ") + device.fallback_reason();
}

bool this_directory_does_direct(const std::string& directory) {
  return FileDevice::open(directory, {.size = 1_MiB, .direct = DirectChoice::direct}).has_value();
}

TEST(Refusals, AForbiddenRingMeansThreadsAndTheReasonTellsHowToAllowIt) {
  const ScratchDirectory directory;
  const std::string text = in_child(
      [&] { return use_under({.call = SYS_io_uring_setup, .errno_code = EPERM}, directory.path()); });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(text.starts_with("threads,") && says(text, "io_uring_disabled")) << text;
}

TEST(Refusals, AnAbsentRingMeansThreads) {
  const ScratchDirectory directory;
  const std::string text = in_child(
      [&] { return use_under({.call = SYS_io_uring_setup, .errno_code = ENOSYS}, directory.path()); });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(text.starts_with("threads,") && says(text, "io_uring")) << text;
}

TEST(Refusals, AForbiddenRingIsAnErrorWhereOneWasRequired) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (!refuse({.call = SYS_io_uring_setup, .errno_code = EPERM}))
      return std::string("skip: no seccomp here");
    return message_of(directory.path(), {.size = 1_MiB, .engine = EngineChoice::uring},
                      ErrorKind::permission);
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "io_uring_disabled")) << text;
}

TEST(Refusals, ARingWithoutRegisteredFilesIsStillARing) {
  const ScratchDirectory directory;
  const auto ring = FileDevice::open(directory.path(), {.size = 1_MiB, .engine = EngineChoice::uring});
  if (ring.has_error()) GTEST_SKIP() << ring.error().message();
  // Second argument: the operation. 2 registers files; it has no bit in common with 8, the probe.
  const std::string text = in_child([&] {
    return use_under({.call = SYS_io_uring_register, .errno_code = EINVAL, .argument = 1, .mask = 2},
                     directory.path());
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(text.starts_with("uring,")) << text;
}

TEST(Refusals, WithoutUnnamedFilesTheNameIsRemovedAtOnce) {
  const ScratchDirectory directory;
  const unsigned bit = O_TMPFILE & ~O_DIRECTORY;
  const std::string text = in_child([&] {
    return use_under({.call = SYS_openat, .errno_code = EOPNOTSUPP, .argument = 2, .mask = bit},
                     directory.path());
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "direct: ") || says(text, "buffered: ")) << text;
}

TEST(Refusals, AnOpenThatRefusesDirectIsNamed) {
  const ScratchDirectory directory;
  if (!this_directory_does_direct(directory.path())) GTEST_SKIP() << "no direct I/O here anyway";
  const std::string text = in_child([&] {
    return use_under({.call = SYS_openat, .errno_code = EINVAL, .argument = 2, .mask = O_DIRECT},
                     directory.path());
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "buffered: O_DIRECT refused at " + directory.path())) << text;
}

TEST(Refusals, WithoutStatxTheAlignmentIsFoundByTrying) {
  const ScratchDirectory directory;
  if (!this_directory_does_direct(directory.path())) GTEST_SKIP() << "no direct I/O here anyway";
  const std::string text =
      in_child([&] { return use_under({.call = SYS_statx, .errno_code = ENOSYS}, directory.path()); });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "direct: ")) << text;
}

TEST(Refusals, WithoutFallocateTheSpaceIsTakenByWriting) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (!refuse({.call = SYS_fallocate, .errno_code = EOPNOTSUPP}))
      return std::string("skip: no seccomp here");
    const auto opened = FileDevice::open(directory.path(), {.size = 3_MiB});
    if (opened.has_error()) return opened.error().message();
    struct stat facts {};
    if (fstat(second_descriptor(directory.path()), &facts) != 0) return std::string("not found");
    return facts.st_size == (3 << 20) && facts.st_blocks * 512 >= (3 << 20) ? std::string("taken")
                                                                            : std::to_string(facts.st_blocks);
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text, "taken");
}

}  // namespace
}  // namespace fulcrum::test
