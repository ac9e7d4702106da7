// A store on hostile ground: disks that are too small or fill up, calls and memory that are refused, kills.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "base/random.h"
#include "tests/support/hostile_ground.h"
#include "tests/support/scratch.h"
#include "tests/tiers/open_attempt.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_device.h"
#include "tiers/store_files.h"

namespace fulcrum::test {
namespace {

constexpr StoreFilesOptions kLayout{.head = 64_KiB, .piece = 1_MiB, .pieces = 8};
constexpr std::int64_t kHead = 65536;
constexpr std::int64_t kPiece = 1 << 20;

Result<std::unique_ptr<FileDevice>> open_in(const std::string& directory, const StoreFilesOptions& layout,
                                            EngineChoice engine = EngineChoice::automatic) {
  return FileDevice::open_store(directory, layout, {.engine = engine, .depth_max = 16, .threads_max = 4});
}

IoCompletion take_space(Device& device, std::int64_t segment) {
  IoCompletion done;
  const IoRequest space{
      .kind = IoKind::allocate, .offset = kHead + segment * kPiece, .buffer = {}, .tag = 1, .length = kPiece};
  if (auto started = device.submit(space); started.has_error()) {
    done.result = started.error();
  } else {
    EXPECT_EQ(*device.poll({&done, 1}, 20_s), 1U);
  }
  return done;
}

/// How many segments the disk has room for; the next one must fail for want of space.
int fill_up(Device& device) {
  for (int segment = 0; segment < 8; ++segment) {
    const IoCompletion done = take_space(device, segment);
    if (!done.result.has_error()) continue;
    return done.result.error().kind == ErrorKind::no_space ? segment : -1;
  }
  return 8;
}

/// Fills the disk, goes on with what it has, and takes more once there is room. "good", or what went wrong.
std::string live_through_a_full_disk(const std::string& directory, EngineChoice engine) {
  const std::string ballast = directory + "/ballast";
  std::ofstream(ballast) << std::string(3 << 20, 'x');
  StoreFilesOptions layout = kLayout;
  layout.demand_space = false;
  auto opened = open_in(directory, layout, engine);
  if (opened.has_error()) return opened.error().message();
  FileDevice& device = **opened;
  const int segments = fill_up(device);
  if (segments < 1 || segments >= 8) return "room for " + std::to_string(segments);
  auto memory = AlignedBuffer::allocate(static_cast<std::size_t>(kPiece));
  Random(4).fill(memory->span());
  const std::int64_t last = kHead + (segments - 1) * kPiece;
  if (auto done = run(device, IoKind::write, last, memory->span()); done.result.has_error())
    return "write into space that was taken: " + done.result.error().message();
  if (device.sync().has_error()) return "sync";
  std::remove(ballast.c_str());
  if (auto done = take_space(device, segments); done.result.has_error())
    return "after space came free: " + done.result.error().message();
  auto seen = AlignedBuffer::allocate(static_cast<std::size_t>(kPiece));
  if (run(device, IoKind::read, last, seen->span()).result.has_error()) return "read";
  return std::ranges::equal(memory->span(), seen->span()) ? "good" : "wrong bytes";
}

TEST(StoreOnHostileGround, ADiskThatFillsUpRefusesMoreSpaceAndLosesNothing) {
  for (const EngineChoice engine : {EngineChoice::automatic, EngineChoice::threads}) {
    const ScratchDirectory directory;
    const std::string text = in_child([&] {
      if (std::string why = mount_private_tmpfs(directory.path(), "size=6m"); !why.empty()) return why;
      return live_through_a_full_disk(directory.path(), engine);
    });
    FULCRUM_SKIP_IF_TOLD(text);
    EXPECT_EQ(text, "good");
  }
}

TEST(StoreOnHostileGround, ARealFilesystemThatFillsUpDoesTheSame) {
  for (const EngineChoice engine : {EngineChoice::automatic, EngineChoice::threads}) {
    const ScratchDirectory directory;
    const std::string text = in_child([&] {
      if (std::string why = mount_private_ext4(directory.path(), 8); !why.empty()) return why;
      return live_through_a_full_disk(directory.path(), engine);
    });
    FULCRUM_SKIP_IF_TOLD(text);
    EXPECT_EQ(text, "good");
  }
}

TEST(StoreOnHostileGround, ADiskThatIsTooSmallIsAnErrorAtTheStartWithTheBytesThatAreMissing) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_tmpfs(directory.path(), "size=4m"); !why.empty()) return why;
    const auto opened = open_in(directory.path(), kLayout);
    if (opened.has_value()) return std::string("opened");
    return opened.error().kind == ErrorKind::no_space ? opened.error().message() : "wrong kind";
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "needs 8454144 bytes") && says(text, "bytes short")) << text;
}

TEST(StoreOnHostileGround, AStoreThatHasItsSpaceOpensOnAFullDisk) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_ext4(directory.path(), 12); !why.empty()) return why;
    {
      auto opened = open_in(directory.path(), kLayout);
      if (opened.has_error()) return opened.error().message();
      if (fill_up(**opened) != 8) return std::string("the disk is too small");
    }
    std::ofstream(directory.path("ballast")) << std::string(16 << 20, 'x');
    auto opened = open_in(directory.path(), kLayout);
    if (opened.has_error()) return opened.error().message();
    auto memory = AlignedBuffer::allocate(4096);
    if (run(**opened, IoKind::write, kHead, memory->span()).result.has_error()) return std::string("write");
    return (*opened)->mode().direct ? std::string("good") : (*opened)->fallback_reason();
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text, "good");
}

TEST(StoreOnHostileGround, AReadOnlyFilesystemIsNamedAndCanStillBeRead) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_tmpfs(directory.path(), "size=12m"); !why.empty()) return why;
    // Without an engine: a ring gives its files back some time after its end, and until then nobody remounts.
    if (auto made = StoreFiles::open(directory.path(), kLayout); made.has_error())
      return made.error().message();
    if (mount(nullptr, directory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return "skip: remount: " + std::generic_category().message(errno);
    const auto refused = open_in(directory.path(), kLayout);
    if (refused.has_value() || refused.error().kind != ErrorKind::read_only)
      return std::string("not refused");
    StoreFilesOptions reading = kLayout;
    reading.read_only = true;
    const auto opened = open_in(directory.path(), reading);
    return opened.has_value() ? std::string("good") : opened.error().message();
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text, "good");
}

TEST(StoreOnHostileGround, WithoutFallocateSpaceIsNotSetAsideAndThatIsSaid) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (!refuse({.call = SYS_fallocate, .errno_code = EOPNOTSUPP}))
      return std::string("skip: no seccomp here");
    const auto opened = open_in(directory.path(), kLayout, EngineChoice::threads);
    if (opened.has_error()) return opened.error().message();
    const IoCompletion taken = take_space(**opened, 2);
    return taken.result.has_error() ? taken.result.error().message() : (*opened)->fallback_reason();
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "cannot set it aside")) << text;
}

TEST(StoreOnHostileGround, AForbiddenRingMeansThreads) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (!refuse({.call = SYS_io_uring_setup, .errno_code = EPERM}))
      return std::string("skip: no seccomp here");
    const auto opened = open_in(directory.path(), kLayout);
    if (opened.has_error()) return opened.error().message();
    if (take_space(**opened, 7).result.has_error()) return std::string("no space taken");
    return (*opened)->mode().uring ? std::string("uring") : (*opened)->fallback_reason();
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_TRUE(says(text, "io_uring_disabled")) << text;
}

TEST(StoreOnHostileGround, NoLockableMemoryCostsRegistrationOnly) {
  const ScratchDirectory directory("/tmp");
  chmod(directory.path().c_str(), 0777);
  const std::string text = in_child([&] {
    set_limit(RLIMIT_MEMLOCK, 0);
    if (getuid() == 0 && !become_nobody()) return std::string("skip: cannot become another user");
    const auto opened = open_in(directory.path(), kLayout);
    if (opened.has_error()) return opened.error().message();
    auto memory = AlignedBuffer::allocate(static_cast<std::size_t>(kPiece));
    const Result<void> registered = (*opened)->register_buffers(memory->span());
    if (!registered.has_error()) return std::string("registered");
    if (registered.error().next_step.empty()) return std::string("no next step");
    const IoCompletion done = run(**opened, IoKind::write, kHead, memory->span());
    return done.result.has_error() ? done.result.error().message() : std::string("good");
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text, "good");
}

TEST(StoreOnHostileGround, WhatAKilledOwnerHadSyncedIsThereForTheNext) {
  const ScratchDirectory directory;
  auto memory = AlignedBuffer::allocate(65536);
  Random(8).fill(memory->span());
  const std::string text = in_child([&] {
    auto opened = open_in(directory.path(), kLayout);
    if (opened.has_error()) return opened.error().message();
    if (run(**opened, IoKind::write, kHead + 3 * kPiece, memory->span()).result.has_error())
      return std::string("write");
    if ((*opened)->sync().has_error()) return std::string("sync");
    raise(SIGKILL);
    return std::string("survived");
  });
  EXPECT_EQ(text, "died: ");
  const auto next = open_in(directory.path(), kLayout);
  ASSERT_TRUE(next.has_value()) << next.error().message();
  auto seen = AlignedBuffer::allocate(65536);
  EXPECT_FALSE(run(**next, IoKind::read, kHead + 3 * kPiece, seen->span()).result.has_error());
  EXPECT_TRUE(std::ranges::equal(memory->span(), seen->span()));
}

}  // namespace
}  // namespace fulcrum::test
