// An engine where the system says no: full disks, limits, forbidden calls, foreign directories. Each in a
// process of its own, on real filesystems; and all that is wrong at the start, told at once.
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>

#include "engine_fixture.h"
#include "tests/support/hostile_ground.h"
#include "tiers/format.h"
#include "tiers/format_page.h"

// Children cannot skip a test; they say why it should be.
#define FULCRUM_SKIP_IF_TOLD(text) \
  if ((text).rfind("skip: ", 0) == 0) GTEST_SKIP() << (text).substr(6)

namespace fulcrum::test {
namespace {

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The error of an open that must fail; its kind first.
std::string refusal(EngineOptions options, ErrorKind kind) {
  const auto engine = Engine::open(std::move(options));
  if (engine) return "it opened";
  return (engine.error().kind == kind ? "" : "(another kind) ") + engine.error().message();
}

/// Right blocks that a load brings; -1 where one is wrong.
int load_of(Engine& engine, RequestId id, const Chain& keys) {
  const auto load = engine.load(test_request(id, keys));
  load->wait();
  return verified(*load, keys);
}

/// Fills the filesystem with a file of somebody else's.
void fill(const std::string& path) {
  std::ofstream ballast(path, std::ios::binary);
  for (const std::string piece(std::size_t{64} << 10, 'x'); ballast.write(piece.data(), 64 << 10).flush();) {
  }
}

// The disk is large enough at the start; another program takes what is left, and later gives it back.
std::string live_through_a_full_disk(const std::string& directory) {
  const std::string ballast = directory + "/ballast";
  std::filesystem::create_directory(directory + "/store");
  const auto engine = Engine::open(test_options(0, directory + "/store", Bytes(std::int64_t{24} << 20)));
  if (!engine) return engine.error().message();
  const Chain first = test_chain(0, 30);
  store_and_wait(**engine, first);
  if (!wait_for_blocks(**engine, 0, 30)) return "the first blocks were not written";
  fill(ballast);
  RequestId id = 1;
  for (int i = 1; i < 8; ++i) {
    store_and_wait(**engine, test_chain(i, 30));
    SteadyClock().sleep(Seconds(0.05));
    for (const int chain : {0, i}) {
      if (load_of(**engine, ++id, test_chain(chain, 30)) < 0) return "wrong bytes on a full disk";
    }
  }
  const EngineTier full = (*engine)->status().tiers[0];
  if (full.health == "disabled" || full.health == "dead") return "it reads no more: " + full.reason;
  std::filesystem::remove(ballast);
  for (int round = 0; round < 600; ++round) {
    const Chain keys = test_chain(100 + round, 30);
    store_and_wait(**engine, keys);
    if (load_of(**engine, ++id, keys) < 0) return "wrong bytes afterwards";
    const EngineTier now = (*engine)->status().tiers[0];
    if (now.health == "healthy" && now.allocated > full.allocated) return "good";
    SteadyClock().sleep(Seconds(0.05));
  }
  return "space came back and it does not grow: " + (*engine)->status().tiers[0].reason;
}

TEST(Limits, AnEngineReadsOnWhereAnotherProgramFillsTheDiskAndGrowsWhenSpaceReturns) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_ext4(directory.path(), 40); !why.empty()) return why;
    return live_through_a_full_disk(directory.path());
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text, "good");
}

TEST(Limits, TheSameOnATmpfsOfLimitedSize) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    if (std::string why = mount_private_tmpfs(directory.path(), "size=36m"); !why.empty()) return why;
    return live_through_a_full_disk(directory.path());
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text, "good");
}

/// Makes the kernel find an error on the ext4 there: it turns read-only as it does on a dying drive.
bool break_filesystem(const std::string& directory) {
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0) return false;
  const std::string name =
      "/sys/dev/block/" + std::to_string(major(facts.st_dev)) + ":" + std::to_string(minor(facts.st_dev));
  std::error_code failed;
  const std::string drive = std::filesystem::canonical(name, failed).filename();
  std::ofstream trigger("/sys/fs/ext4/" + drive + "/trigger_fs_error");
  return !failed && static_cast<bool>(trigger << "1" << std::flush);
}

TEST(Limits, AFilesystemThatTurnsReadOnlyIsReadOnAndNamed) {
  const ScratchDirectory directory;
  const std::string text = in_child([&]() -> std::string {
    if (std::string why = mount_private_ext4(directory.path(), 40); !why.empty()) return why;
    if (mount("", directory.path().c_str(), nullptr, MS_REMOUNT, "errors=remount-ro") != 0)
      return "skip: no remount";
    const auto engine = Engine::open(test_options(0, directory.path(), Bytes(std::int64_t{24} << 20)));
    if (!engine) return engine.error().message();
    const Chain keys = test_chain(0, 30);
    store_and_wait(**engine, keys);
    if (!wait_for_blocks(**engine, 0, 30)) return "not written";
    if (!break_filesystem(directory.path())) return "skip: this kernel has no trigger for errors";
    for (int i = 1; i < 60 && (*engine)->status().tiers[0].health == "healthy"; ++i) {
      store_and_wait(**engine, test_chain(i, 30));
      SteadyClock().sleep(Seconds(0.05));
    }
    if (const int blocks = load_of(**engine, 1, keys); blocks != 30)
      return "it brought " + std::to_string(blocks);
    return (*engine)->status().tiers[0].health + ": " + (*engine)->status().tiers[0].reason;
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text.rfind("degraded: ", 0), 0U) << text;
  EXPECT_TRUE(says(text, "EROFS")) << text;
}

TEST(Limits, TooFewDescriptorsAreAnErrorAtTheStartWithNeedAndLimit) {
  const ScratchDirectory directory;
  const std::string text = in_child([&] {
    set_limit(RLIMIT_NOFILE, 12);
    return refusal(test_options(10, directory.path()), ErrorKind::file_limit);
  });
  EXPECT_TRUE(says(text, "12")) << text;
  EXPECT_TRUE(says(text, "LimitNOFILE")) << text;
}

/// What an engine on this directory says it uses, if its bytes are right.
std::string io_of(const std::string& directory) {
  const auto engine = Engine::open(test_options(0, directory));
  if (!engine) return engine.error().message();
  const Chain keys = test_chain(1, 20);
  store_and_wait(**engine, keys);
  if (!wait_for_blocks(**engine, 0, 20)) return "not written";
  const int blocks = load_of(**engine, 1, keys);
  return blocks == 20 ? "io: " + (*engine)->status().tiers[0].io : "it brought " + std::to_string(blocks);
}

TEST(Limits, NoLockableMemoryCostsRegistrationAndIsTold) {
  const ScratchDirectory directory("/tmp");
  chmod(directory.path().c_str(), 0777);
  const std::string text = in_child([&]() -> std::string {
    set_limit(RLIMIT_MEMLOCK, 0);
    if (getuid() == 0 && !become_nobody()) return "skip: cannot become another user";
    return io_of(directory.path());
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text.rfind("io: ", 0), 0U) << text;
  EXPECT_TRUE(says(text, "not registered") || says(text, "threads")) << text;
  EXPECT_TRUE(says(text, "ulimit -l")) << text;
}

TEST(Limits, AForbiddenRingMeansThreadsAndIsTold) {
  const ScratchDirectory directory;
  const std::string text = in_child([&]() -> std::string {
    if (!refuse({SYS_io_uring_setup, EPERM})) return "skip: filters are not allowed";
    return io_of(directory.path());
  });
  FULCRUM_SKIP_IF_TOLD(text);
  EXPECT_EQ(text.rfind("io: threads", 0), 0U) << text;
  EXPECT_TRUE(says(text, "io_uring")) << text;
}

TEST(Limits, AnEngineInAnotherProcessIsNamed) {
  const ScratchDirectory directory;
  const auto engine = Engine::open(test_options(0, directory.path()));
  ASSERT_TRUE(engine) << engine.error().message();
  const std::string text =
      in_child([&] { return refusal(test_options(0, directory.path()), ErrorKind::busy); });
  EXPECT_TRUE(says(text, "pid " + std::to_string(getpid()))) << text;
}

TEST(Limits, AnotherBlockSizeIsRefusedAndNothingIsTouched) {
  const ScratchDirectory directory;
  const Chain keys = test_chain(1, 20);
  {
    const auto engine = Engine::open(test_options(0, directory.path()));
    ASSERT_TRUE(engine);
    store_and_wait(**engine, keys);
    ASSERT_TRUE(wait_for_blocks(**engine, 0, 20));
  }
  EngineOptions other = test_options(0, directory.path());
  other.policy.block_tokens = Tokens(kBlockTokens * 2);
  const std::string text = refusal(other, ErrorKind::mismatch);
  EXPECT_TRUE(says(text, directory.path())) << text;
  const auto again = Engine::open(test_options(0, directory.path()));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(load_of(**again, 1, keys), 20);
}

/// Makes both superblocks of a store those of the next major version.
void make_newer(const std::string& directory) {
  std::fstream meta(directory + "/meta", std::ios::in | std::ios::out | std::ios::binary);
  constexpr std::size_t kMajorAt = 16;
  for (const int copy : {0, 1}) {
    std::array<std::byte, kPage> page{};
    meta.seekg(copy * static_cast<std::streamoff>(kPage));
    meta.read(reinterpret_cast<char*>(page.data()), kPage);
    if (std::all_of(page.begin(), page.end(), [](std::byte one) { return one == std::byte{0}; })) continue;
    page[kMajorAt] = std::byte{kFormatMajor + 1};
    seal_page(page);
    meta.seekp(copy * static_cast<std::streamoff>(kPage));
    meta.write(reinterpret_cast<const char*>(page.data()), kPage);
  }
}

TEST(Limits, ADirectoryOfANewerFormatIsRefusedOrReplaced) {
  const ScratchDirectory directory;
  { store_and_wait(**Engine::open(test_options(0, directory.path())), test_chain(1, 20)); }
  make_newer(directory.path());
  EngineOptions options = test_options(0, directory.path());
  const std::string text = refusal(options, ErrorKind::mismatch);
  EXPECT_TRUE(says(text, "version 2")) << text;
  options.policy.engine.replace_foreign = true;
  const auto replaced = Engine::open(options);
  ASSERT_TRUE(replaced) << replaced.error().message();
  EXPECT_EQ((*replaced)->status().tiers[0].blocks, 0U);
}

TEST(Limits, AllThatIsWrongAtTheStartIsToldAtOnce) {
  const ScratchDirectory directory;
  EngineOptions options = test_options(10, directory.path(), Bytes(std::int64_t{1} << 45));
  options.policy.tiers.push_back(test_tier("hdd", Bytes(std::int64_t{1} << 30)));
  options.policy.tiers.back().paths = {"/nowhere/hdd"};
  const std::string text = refusal(options, ErrorKind::no_space);
  EXPECT_TRUE(says(text, "bytes short")) << text;
  EXPECT_TRUE(says(text, "/nowhere/hdd")) << text;
  EXPECT_TRUE(says(text, "2 things are wrong")) << text;
}

TEST(Limits, ABudgetOfZeroIsToldWithTheLeastThatWorks) {
  const ScratchDirectory directory;
  EngineOptions options = test_options(0, directory.path());
  options.policy.tiers[0].write_limit = BytesPerSecond(0);
  options.policy.tiers[0].write_limit_per_day = Bytes(0);
  const std::string text = refusal(options, ErrorKind::mismatch);
  EXPECT_TRUE(says(text, "tiers[0].write_limit:")) << text;
  EXPECT_TRUE(says(text, "tiers[0].write_limit_per_day:")) << text;
}

}  // namespace
}  // namespace fulcrum::test
