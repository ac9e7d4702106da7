#include "tiers/row_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/random.h"
#include "tests/support/scratch.h"
#include "tiers/numa.h"
#include "tiers/row_pool_room.h"
#include "tiers/row_pool_runs.h"

namespace fulcrum::test {
namespace {

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::shared_ptr<RowPool> pool_of(const RowPoolOptions& options) {
  auto pool = RowPool::create(options);
  EXPECT_TRUE(pool.has_value()) << pool.error().message();
  return pool.has_value() ? *pool : nullptr;
}

TEST(RowPool, GivesEqualAlignedRowsThatDoNotOverlap) {
  const auto pool = pool_of({.row_bytes = Bytes(5000), .rows = 7});
  EXPECT_EQ(pool->stride(), 8192U);
  EXPECT_EQ(pool->memory().size(), 7U * 8192U);
  auto rows = pool->take(7);
  ASSERT_TRUE(rows.has_value());
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*rows)[i].data()) % 4096, 0U);
    std::memset((*rows)[i].data(), static_cast<int>(i), (*rows)[i].bytes().size());
  }
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ((*rows)[i].bytes().size(), 5000U);
    EXPECT_EQ((*rows)[i].bytes().front(), static_cast<std::byte>(i));
    EXPECT_EQ((*rows)[i].bytes().back(), static_cast<std::byte>(i));
  }
  EXPECT_FALSE(pool->take(1).has_value());
}

TEST(RowPool, TakesAllOrNothing) {
  const auto pool = pool_of({.row_bytes = 4_KiB, .rows = 4});
  auto two = pool->take(2);
  EXPECT_FALSE(pool->take(3).has_value());
  EXPECT_EQ(pool->free_rows(), 2U);
  two.reset();
  EXPECT_EQ(pool->free_rows(), 4U);
  EXPECT_TRUE(pool->take(4).has_value());
}

TEST(RowPool, KeepsAQuotaToTheRow) {
  const auto pool = pool_of({.row_bytes = 4_KiB, .rows = 8});
  const auto quota = std::make_shared<RowQuota>(3);
  auto rows = pool->take(2, quota);
  ASSERT_TRUE(rows.has_value());
  EXPECT_FALSE(pool->take(2, quota).has_value());
  EXPECT_EQ(quota->used(), 2U);
  auto others = pool->take(6);
  EXPECT_FALSE(pool->take(1, quota).has_value()) << "the quota has room, the pool has none";
  EXPECT_EQ(quota->used(), 2U);
  EXPECT_EQ((*rows)[0].quota(), quota.get());
  rows->pop_back();
  EXPECT_EQ(quota->used(), 1U);
  rows.reset();
  EXPECT_EQ(quota->used(), 0U);
  EXPECT_EQ(pool->free_rows(), 2U);
}

TEST(Row, IsEmptyAfterAMoveAndGivesUpWhatItHad) {
  const auto pool = pool_of({.row_bytes = 4_KiB, .rows = 2});
  auto rows = pool->take(2);
  Row first = std::move((*rows)[0]);
  EXPECT_FALSE(static_cast<bool>((*rows)[0]));
  EXPECT_EQ(pool->free_rows(), 0U);
  first = std::move((*rows)[1]);
  EXPECT_TRUE(static_cast<bool>(first));
  EXPECT_EQ(pool->free_rows(), 1U);
  first = Row();
  EXPECT_EQ(pool->free_rows(), 2U);
}

TEST(RowPool, OutlivesItsLastOwnerWhileARowIsHeld) {
  auto pool = pool_of({.row_bytes = 4_KiB, .rows = 1});
  auto row = pool->take(1);
  pool.reset();
  std::memset((*row)[0].data(), 1, 4096);
  EXPECT_EQ((*row)[0].bytes()[4095], std::byte{1});
}

TEST(RowRuns, PrefersTheShortestRunThatIsLongEnough) {
  RowRuns runs(20);
  std::vector<std::size_t> all;
  runs.take(20, all);
  for (const std::size_t index : {0U, 1U, 2U, 3U, 4U, 5U, 8U, 9U, 10U, 14U, 16U}) runs.give_back(index);
  std::vector<std::size_t> out;
  runs.take(3, out);
  EXPECT_EQ(out, (std::vector<std::size_t>{8, 9, 10}));
  out.clear();
  runs.take(7, out);
  EXPECT_EQ(std::vector<std::size_t>(out.begin(), out.begin() + 6),
            (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(runs.free(), 1U);
}

// Whatever is taken and given back: no row twice, none lost, neighbours are joined again.
TEST(RowRuns, NeverGivesARowTwiceAndJoinsWhatComesBack) {
  constexpr std::uint64_t kSeed = 4;
  Random random(kSeed);
  RowRuns runs(200);
  std::vector<std::size_t> out;
  for (int step = 0; step < 5000; ++step) {
    if (random.below(2) == 0) {
      const std::size_t count = std::min<std::size_t>(runs.free(), random.below(20));
      std::vector<std::size_t> taken;
      runs.take(count, taken);
      ASSERT_EQ(taken.size(), count);
      out.insert(out.end(), taken.begin(), taken.end());
    } else {
      for (std::size_t n = random.below(20); n > 0 && !out.empty(); --n) {
        std::swap(out[random.below(out.size())], out.back());
        runs.give_back(out.back());
        out.pop_back();
      }
    }
    ASSERT_EQ(std::set(out.begin(), out.end()).size(), out.size()) << "seed " << kSeed << ", step " << step;
    ASSERT_EQ(runs.free() + out.size(), 200U);
  }
  for (const std::size_t index : out) runs.give_back(index);
  EXPECT_EQ(runs.runs(), 1U);
}

TEST(RowPool, IsSafeForManyThreads) {
  const auto pool = pool_of({.row_bytes = 4_KiB, .rows = 64});
  const auto quota = std::make_shared<RowQuota>(40);
  std::atomic<std::size_t> over = 0;
  std::vector<std::thread> threads;
  for (int id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      Random random(static_cast<std::uint64_t>(id));
      for (int step = 0; step < 2000; ++step) {
        auto rows = pool->take(1 + random.below(16), id % 2 == 0 ? quota : nullptr);
        if (quota->used() > quota->limit()) ++over;
        if (!rows) continue;
        for (Row& row : *rows) std::memset(row.data(), id, 64);
        for (Row& row : *rows) {
          if (row.bytes()[63] != static_cast<std::byte>(id)) ++over;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(over, 0U);
  EXPECT_EQ(pool->free_rows(), 64U);
  EXPECT_EQ(quota->used(), 0U);
}

TEST(RowPool, RefusesRowsOfNothing) {
  EXPECT_EQ(RowPool::create({.row_bytes = 4_KiB, .rows = 0}).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(RowPool::create({.row_bytes = Bytes(0), .rows = 1}).error().kind, ErrorKind::bad_input);
}

TEST(RowPool, SaysHowMuchItWantedAndWhichLimitItMet) {
  const auto too_much = RowPool::create({.row_bytes = 1_GiB, .rows = 8192});
  ASSERT_TRUE(too_much.has_error());
  EXPECT_EQ(too_much.error().kind, ErrorKind::no_memory);
  EXPECT_TRUE(says(too_much.error().message(), "8 TiB")) << too_much.error().message();
  EXPECT_TRUE(says(too_much.error().message(), "lower the capacity")) << too_much.error().message();
  const auto absurd = RowPool::create({.row_bytes = Bytes(INT64_MAX), .rows = SIZE_MAX, .touch = false});
  EXPECT_EQ(absurd.error().kind, ErrorKind::no_memory);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(RowPool, NamesTheAddressSpaceWhereThatIsTheLimit) {
  const std::string text = in_child([] {
    const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    const auto pool = RowPool::create({.row_bytes = 1_MiB, .rows = 2048, .touch = false});
    return pool.has_error() && pool.error().kind == ErrorKind::no_memory ? pool.error().message()
                                                                         : "no error";
  });
  EXPECT_TRUE(says(text, "ulimit -v")) << text;
  EXPECT_TRUE(says(text, "2 GiB")) << text;
}
#endif

TEST(RowPool, InsistsOnHugePagesOrSaysWhatIsMissing) {
  for (const bool shared : {false, true}) {
    const auto pool =
        RowPool::create({.row_bytes = 2_MiB, .rows = 3, .shared = shared, .huge_pages = HugePages::always});
    if (pool.has_value()) {
      EXPECT_TRUE(says((*pool)->description(), "2 MiB pages")) << (*pool)->description();
      continue;
    }
    EXPECT_EQ(pool.error().kind, ErrorKind::unsupported);
    EXPECT_TRUE(says(pool.error().message(), "3 pages are needed")) << pool.error().message();
    EXPECT_TRUE(says(pool.error().message(), "vm.nr_hugepages")) << pool.error().message();
  }
}

TEST(RowPool, DescribesThePagesThatItGot) {
  const std::string small = std::to_string(sysconf(_SC_PAGESIZE) >> 10) + " KiB pages";
  EXPECT_EQ(pool_of({.row_bytes = 2_MiB, .rows = 4, .huge_pages = HugePages::never})->description(), small);
  EXPECT_EQ(
      pool_of({.row_bytes = 2_MiB, .rows = 4, .shared = true, .huge_pages = HugePages::never})->description(),
      small + ", shared");
  EXPECT_EQ(pool_of({.row_bytes = 2_MiB, .rows = 4, .touch = false})->description(),
            small + ", larger ones asked for");
  const std::string got = pool_of({.row_bytes = 2_MiB, .rows = 4})->description();
  EXPECT_TRUE(says(got, "2 MiB pages") || got == small) << got;
}

TEST(RowPool, BindsToANodeOrSaysWhichThereAre) {
  const std::vector<NumaNode> nodes = numa_nodes();
  const auto missing = RowPool::create({.row_bytes = 4_KiB, .rows = 1, .numa_node = 999});
  ASSERT_TRUE(missing.has_error());
  EXPECT_EQ(missing.error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(says(missing.error().message(), "NUMA node 999")) << missing.error().message();
  if (nodes.empty()) GTEST_SKIP() << "this kernel names no NUMA nodes";
  const auto bound = RowPool::create({.row_bytes = 4_KiB, .rows = 64, .numa_node = nodes.back().id});
  if (bound.has_error() && bound.error().kind == ErrorKind::permission)
    GTEST_SKIP() << bound.error().message();
  ASSERT_TRUE(bound.has_value()) << bound.error().message();
  EXPECT_TRUE(says((*bound)->description(), "node " + std::to_string(nodes.back().id)));
  const std::optional<int> node = node_of((*bound)->memory().data());
  EXPECT_EQ(node.value_or(nodes.back().id), nodes.back().id);
}

TEST(RowPool, TouchesAllPagesAtTheStartOrNone) {
  for (const bool touch : {true, false}) {
    const auto pool =
        pool_of({.row_bytes = 1_MiB, .rows = 8, .huge_pages = HugePages::never, .touch = touch});
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> resident(pool->memory().size() / page);
    ASSERT_EQ(mincore(pool->memory().data(), pool->memory().size(), resident.data()), 0);
    const auto there =
        std::count_if(resident.begin(), resident.end(), [](unsigned char r) { return (r & 1) != 0; });
    EXPECT_EQ(static_cast<std::size_t>(there), touch ? resident.size() : 0U);
  }
}

TEST(RowPool, SharesItsBytesWithAProcessThatOpensItsDescriptor) {
  const auto pool = pool_of({.row_bytes = Bytes(5000), .rows = 4, .shared = true});
  EXPECT_EQ(pool_of({.row_bytes = 4_KiB, .rows = 1})->descriptor(), -1);
  auto rows = pool->take(2);
  std::memset((*rows)[1].data(), 7, 5000);
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(pool->descriptor());
  const std::size_t size = pool->memory().size();
  const std::size_t at = (*rows)[1].index() * pool->stride();
  const std::string text = in_child([&]() -> std::string {
    const int own = open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    if (memory == MAP_FAILED) return "no mapping";
    auto* bytes = static_cast<unsigned char*>(memory);
    if (bytes[at] != 7 || bytes[at + 4999] != 7) return "other bytes";
    bytes[at] = 8;
    return ftruncate(own, 0) == 0 ? "cut short" : "good";
  });
  EXPECT_EQ(text, "good");
  EXPECT_EQ((*rows)[1].bytes()[0], std::byte{8});
}

TEST(RowPool, LeavesNothingBehindWhenItsProcessIsKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const auto files = [] {
    std::set<std::string> names;
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", absent)) {
      if (says(entry.path(), "fulcrum")) names.insert(entry.path());
    }
    return names;
  };
  const std::set<std::string> before = files();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto pool = RowPool::create({.row_bytes = 1_MiB, .rows = 32, .shared = true});
    const char told = pool.has_value() ? 'y' : 'n';
    static_cast<void>(!write(ends[1], &told, 1));
    for (;;) pause();
  }
  char told = 0;
  ASSERT_EQ(read(ends[0], &told, 1), 1);
  EXPECT_EQ(told, 'y');
  EXPECT_EQ(files(), before) << "it has a name while it runs";
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(files(), before);
  close(ends[0]);
  close(ends[1]);
}

using RowPoolDeathTest = testing::Test;

TEST(RowPoolDeathTest, AWriteBeyondTheSlabIsAFaultAndNotASpoiltNeighbour) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto pool = pool_of({.row_bytes = 4_KiB, .rows = 2});
  EXPECT_DEATH(
      *static_cast<volatile std::byte*>(pool->memory().data() + pool->memory().size()) = std::byte{1}, "");
  EXPECT_DEATH(*static_cast<volatile std::byte*>(pool->memory().data() - 1) = std::byte{1}, "");
}

/// A root with the files given, for memory_room().
class MemoryRoomTest : public testing::Test {
 protected:
  void file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root_.path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] std::optional<MemoryRoom> room() const { return memory_room(root_.path()); }
  ScratchDirectory root_;
};

TEST_F(MemoryRoomTest, IsNothingWhereTheKernelDoesNotSay) {
  EXPECT_FALSE(room().has_value());
}

TEST_F(MemoryRoomTest, IsWhatTheMachineHasWhereNoGroupLimitsIt) {
  file("proc/meminfo", "MemTotal:  200 kB\nMemAvailable:     100 kB\nSwapFree: 5 kB\n");
  file("proc/self/cgroup", "0::/a\n");
  file("sys/fs/cgroup/a/memory.max", "max\n");
  file("sys/fs/cgroup/a/memory.current", "5\n");
  EXPECT_EQ(room()->free, 100_KiB);
  EXPECT_TRUE(says(room()->limit, "machine"));
}

TEST_F(MemoryRoomTest, IsTheTightestLimitOnTheWayUpWithoutDroppableCaches) {
  file("proc/meminfo", "MemAvailable: 1000000 kB\n");
  file("proc/self/cgroup", "3:cpu:/x\n0::/pods/a\n");
  file("sys/fs/cgroup/pods/a/memory.max", "900000\n");
  file("sys/fs/cgroup/pods/a/memory.current", "100000\n");
  file("sys/fs/cgroup/pods/memory.max", "500000\n");
  file("sys/fs/cgroup/pods/memory.current", "400000\n");
  file("sys/fs/cgroup/pods/memory.stat", "anon 1\ninactive_file 20000\nactive_file 3000\n");
  EXPECT_EQ(room()->free, Bytes(123000));
  EXPECT_EQ(room()->limit, "memory.max of control group /pods");
}

TEST_F(MemoryRoomTest, KnowsControlGroupsOfVersionOne) {
  file("proc/meminfo", "MemAvailable: 1000000 kB\n");
  file("proc/self/cgroup", "4:memory:/box\n0::/\n");
  file("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "7000\n");
  file("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "3000\n");
  file("sys/fs/cgroup/memory/box/memory.stat", "total_inactive_file 500\n");
  EXPECT_EQ(room()->free, Bytes(4500));
  EXPECT_TRUE(says(room()->limit, "/box"));
}

TEST_F(MemoryRoomTest, IsZeroAndNotNegativeWhereMoreIsUsedThanAllowed) {
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/memory.max", "7000\n");
  file("sys/fs/cgroup/memory.current", "9000\n");
  EXPECT_EQ(room()->free, Bytes(0));
}

}  // namespace
}  // namespace fulcrum::test
