// A running engine on real files whose device stalls, fails, refuses and lies.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine_fixture.h"
#include "tests/engine/faults.h"
#include "tests/support/hostile_ground.h"

namespace fulcrum::test {
namespace {

// Bounds are wide: what is bounded at all ends within a fraction of them, what is not never does.
constexpr Seconds kSlack{3};

std::unique_ptr<Engine> open_sick(EngineOptions options, const SickBay& bay) {
  auto engine = engine::open_engine(std::move(options), bay.wrap());
  EXPECT_TRUE(engine) << engine.error().message();
  return engine ? std::move(*engine) : nullptr;
}

bool wait_for_health(const Engine& engine, std::size_t tier, const std::string& health, Seconds limit) {
  SteadyClock clock;
  const Seconds deadline = clock.now() + limit;
  while (clock.now() < deadline) {
    if (engine.status().tiers[tier].health == health) return true;
    clock.sleep(Seconds(0.01));
  }
  return false;
}

/// A load's end, how long that took, and the blocks that were right; -1 where one was wrong.
struct Tried {
  LoadEnd end = LoadEnd::running;
  Seconds took{};
  int blocks = 0;
};
Tried try_load(Engine& engine, RequestId id, const Chain& keys, Seconds deadline = Seconds(0)) {
  const SteadyClock clock;
  const Seconds start = clock.now();
  LoadOptions options;
  options.deadline = deadline;
  const auto load = engine.load(test_request(id, keys), std::move(options));
  const LoadEnd end = load->wait().end;
  return {end, clock.now() - start, verified(*load, keys)};
}

TEST(RealFaults, AStallStopsLoadsInTimeAndTheTierComesBackWhenItEnds) {
  const ScratchDirectory scratch;
  SickBay bay;
  const auto engine = open_sick(test_options(0, scratch.path()), bay);
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 40);
  store_and_wait(*engine, keys);
  ASSERT_TRUE(wait_for_blocks(*engine, 0, 40)) << describe(*engine, 0);
  bay.stall();
  const Tried first = try_load(*engine, 1, keys, Seconds(0.2));
  EXPECT_EQ(first.end, LoadEnd::stopped);
  EXPECT_LT(first.took, Seconds(0.2) + kSlack);
  ASSERT_TRUE(wait_for_health(*engine, 0, "disabled", Seconds(10)));
  EXPECT_GT(engine->status().tiers[0].limbo, Bytes(0)) << "its rows are still the device's";
  EXPECT_NE(engine->status().tiers[0].reason, "");
  const Tried second = try_load(*engine, 2, keys);
  EXPECT_EQ(second.blocks, 0) << "nobody waits for a tier that does not answer";
  EXPECT_LT(second.took, kSlack);
  bay.release();
  ASSERT_TRUE(wait_for_health(*engine, 0, "healthy", Seconds(10)));
  EXPECT_EQ(try_load(*engine, 3, keys).blocks, 40);
  EXPECT_EQ(engine->status().tiers[0].limbo, Bytes(0));
}

TEST(RealFaults, AStallForEverLeavesClosingAndTheNextStartBounded) {
  const ScratchDirectory scratch;
  SickBay bay;
  const Chain keys = test_chain(1, 40);
  const SteadyClock clock;
  Seconds began{};
  {
    auto engine = open_sick(test_options(0, scratch.path()), bay);
    ASSERT_TRUE(engine);
    store_and_wait(*engine, keys);
    ASSERT_TRUE(wait_for_blocks(*engine, 0, 40)) << describe(*engine, 0);
    bay.stall();
    const auto load = engine->load(test_request(1, keys), {.deadline = Seconds(0.1)});
    EXPECT_EQ(load->wait().end, LoadEnd::stopped);
    store_and_wait(*engine, test_chain(2, 20));
    began = clock.now();
    EXPECT_FALSE(engine->close(Seconds(0.3))) << "something was left behind, and that is said";
  }
  EXPECT_LT(clock.now() - began, Seconds(0.3) + kSlack);
  const auto again = Engine::open(test_options(0, scratch.path()));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(try_load(**again, 1, keys).blocks, 40);
}

TEST(RealFaults, ADeviceThatKeepsMoreMemoryThanItMayIsGivenUp) {
  const ScratchDirectory scratch;
  SickBay bay;
  EngineOptions options = test_options(0, scratch.path());
  options.policy.engine.limbo = Bytes(kRowBytes * 8);
  const auto engine = open_sick(std::move(options), bay);
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 40);
  store_and_wait(*engine, keys);
  ASSERT_TRUE(wait_for_blocks(*engine, 0, 40)) << describe(*engine, 0);
  bay.stall();
  EXPECT_EQ(try_load(*engine, 1, keys, Seconds(0.1)).end, LoadEnd::stopped);
  ASSERT_TRUE(wait_for_health(*engine, 0, "dead", Seconds(10)));
  EXPECT_NE(engine->status().tiers[0].reason.find("limbo"), std::string::npos);
  bay.release();
  SteadyClock().sleep(Seconds(0.2));
  EXPECT_EQ(engine->status().tiers[0].health, "dead");
  EXPECT_EQ(try_load(*engine, 2, keys).blocks, 0);
}

TEST(RealFaults, StoringNeverWaitsForAStalledDeviceAndEveryStoreIsAnsweredOnce) {
  const ScratchDirectory scratch;
  SickBay bay;
  const auto engine = open_sick(test_options(100, scratch.path()), bay);
  ASSERT_TRUE(engine);
  bay.stall();
  const std::vector<std::byte> row = test_row(test_chain(0, 1).front());
  std::atomic<int> answers = 0;
  const SteadyClock clock;
  Seconds longest{};
  int taken = 0;
  for (int i = 0; i < 200; ++i) {
    StoreRequest request{.chain = test_chain(i, 1), .rows = {row.data()}};
    request.on_done = [&](const StoreOutcome&) { ++answers; };
    const Seconds start = clock.now();
    if (engine->store(std::move(request))) ++taken;
    longest = std::max(longest, clock.now() - start);
  }
  EXPECT_LT(longest, Seconds(1));
  EXPECT_GT(taken, 100);
  for (int i = 0; i < 300 && answers < taken; ++i) SteadyClock().sleep(Seconds(0.01));
  bay.release();
  EXPECT_TRUE(engine->close(Seconds(10)));
  EXPECT_EQ(answers, taken);
}

TEST(RealFaults, OneTiersFailureStaysInThatTier) {
  const ScratchDirectory scratch;
  SickBay bay;
  const auto engine = open_sick(test_options(100, scratch.path()), bay);
  ASSERT_TRUE(engine);
  bay.fail(EIO);
  bay.refuse(EIO);
  for (int i = 0; i < 16; ++i) store_and_wait(*engine, test_chain(i, 20));
  EXPECT_TRUE(wait_for_health(*engine, 1, "disabled", Seconds(10)) ||
              engine->status().tiers[1].health == "degraded")
      << engine->status().tiers[1].health;
  EXPECT_EQ(engine->status().tiers[0].health, "healthy");
  const Chain fresh = test_chain(100, 20);
  EXPECT_EQ(store_and_wait(*engine, fresh).kept, 20U);
  EXPECT_EQ(try_load(*engine, 1, fresh).blocks, 20) << "memory serves on";
  bay.mend();
  EXPECT_TRUE(wait_for_health(*engine, 1, "healthy", Seconds(20))) << engine->status().tiers[1].reason;
}

// Refused writes, real reads: the errors of a full disk, a full quota and a mount that turned read-only.
class RefusedWrites : public testing::TestWithParam<int> {};

TEST_P(RefusedWrites, CostNoReadAndEndWithTheRefusal) {
  const ScratchDirectory scratch;
  SickBay bay;
  const auto engine = open_sick(test_options(0, scratch.path()), bay);
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 40);
  store_and_wait(*engine, keys);
  ASSERT_TRUE(wait_for_blocks(*engine, 0, 40)) << describe(*engine, 0);
  bay.refuse(GetParam());
  store_and_wait(*engine, test_chain(2, 20));
  ASSERT_TRUE(wait_for_health(*engine, 0, "degraded", Seconds(10))) << engine->status().tiers[0].health;
  EXPECT_NE(engine->status().tiers[0].reason, "");
  for (RequestId id = 1; id < 5; ++id) EXPECT_EQ(try_load(*engine, id, keys).blocks, 40);
  EXPECT_EQ(store_and_wait(*engine, test_chain(3, 20)).kept, 0U) << "nothing more is taken";
  bay.mend();
  if (GetParam() == EROFS) return;  // asked again once a minute only: in simulation
  ASSERT_TRUE(wait_for_health(*engine, 0, "healthy", Seconds(30))) << engine->status().tiers[0].reason;
  const Chain fresh = test_chain(4, 20);
  store_and_wait(*engine, fresh);
  EXPECT_TRUE(wait_for_blocks(*engine, 0, 60));
  EXPECT_EQ(try_load(*engine, 9, fresh).blocks, 20);
}

INSTANTIATE_TEST_SUITE_P(Errors, RefusedWrites, testing::Values(ENOSPC, EDQUOT, EROFS), [](const auto& code) {
  return code.param == ENOSPC ? "NoSpace" : code.param == EDQUOT ? "Quota" : "ReadOnly";
});

/// Does to a store's files what hands, cables and copies do.
void damage(const std::string& directory, Random& random) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/segments")) {
    struct stat facts {};
    if (stat(entry.path().c_str(), &facts) == 0 && facts.st_blocks > 0) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  const std::filesystem::path& one = files[random.below(files.size())];
  const std::filesystem::path& other = files[random.below(files.size())];
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(one));
  switch (random.below(4)) {
    case 0:
      for (int i = 0; i < 50; ++i) {
        std::fstream file(one, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(random.below(static_cast<std::uint64_t>(size))));
        file.put(static_cast<char>(random.below(256)));
      }
      break;
    case 1:
      std::filesystem::resize_file(one, random.below(static_cast<std::uint64_t>(size)));
      break;
    case 2:
      std::filesystem::rename(one, directory + "/aside");
      std::filesystem::rename(other == one ? std::filesystem::path(directory + "/aside") : other, one);
      if (other != one) std::filesystem::rename(directory + "/aside", other);
      break;
    default:
      if (other == one) break;
      std::filesystem::copy_file(one, other, std::filesystem::copy_options::overwrite_existing);
      break;
  }
}

TEST(RealFaults, ADirectoryDamagedByHandGivesRightBytesOrMisses) {
  const ScratchDirectory scratch;
  Random random(11);
  int right = 0;
  for (int round = 0; round < 12; ++round) {
    auto engine = Engine::open(test_options(0, scratch.path()));
    ASSERT_TRUE(engine) << "round " << round << ": " << engine.error().message();
    for (int i = 0; i < 6; ++i) {
      const Chain keys = test_chain(i, 40);
      const int blocks = try_load(**engine, static_cast<RequestId>(i + 1), keys).blocks;
      ASSERT_GE(blocks, 0) << "wrong bytes in round " << round;
      right += blocks;
      store_and_wait(**engine, keys);
    }
    SteadyClock().sleep(Seconds(0.1));
    (*engine)->close(Seconds(5));
    damage(scratch.path(), random);
  }
  EXPECT_GT(right, 100) << "damage costs what it touched only";
}

}  // namespace
}  // namespace fulcrum::test
