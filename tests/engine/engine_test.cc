// The engine as its hosts see it: real threads, real files.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/log.h"
#include "engine_fixture.h"
#include "tiers/machine_facts.h"

namespace fulcrum::test {
namespace {

std::unique_ptr<Engine> open(EngineOptions options) {
  auto engine = Engine::open(std::move(options));
  EXPECT_TRUE(engine) << engine.error().message();
  return engine ? std::move(*engine) : nullptr;
}

TEST(Engine, GivesBackFromMemoryWhatWasStored) {
  const auto engine = open(test_options(100, ""));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 40);
  EXPECT_EQ(store_and_wait(*engine, keys).kept, 40U);
  const auto load = engine->load(test_request(1, keys));
  EXPECT_EQ(load->wait().end, LoadEnd::complete);
  EXPECT_EQ(verified(*load, keys), 40);
  EXPECT_EQ(engine->load(test_request(2, test_chain(2, 40)))->wait().ready, 0U) << "another chain";
}

TEST(Engine, GivesBackFromFilesWhatWasStoredAlsoAfterARestart) {
  const ScratchDirectory scratch;
  const Chain keys = test_chain(1, 40);
  {
    const auto engine = open(test_options(0, scratch.path()));
    ASSERT_TRUE(engine);
    store_and_wait(*engine, keys);
    ASSERT_TRUE(wait_for_blocks(*engine, 0, 40)) << describe(*engine, 0);
    const auto load = engine->load(test_request(1, keys));
    EXPECT_EQ(load->wait().end, LoadEnd::complete);
    EXPECT_EQ(verified(*load, keys), 40);
    EXPECT_TRUE(engine->close(Seconds(5)));
  }
  const auto again = open(test_options(0, scratch.path()));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->status().tiers[0].blocks, 40U);
  const auto load = again->load(test_request(1, keys));
  EXPECT_EQ(load->wait().end, LoadEnd::complete);
  EXPECT_EQ(verified(*load, keys), 40);
}

TEST(Engine, WhatLeavesMemoryIsWrittenDownAndReadBack) {
  const ScratchDirectory scratch;
  EngineOptions options = test_options(100, scratch.path());
  auto engine = open(options);
  ASSERT_TRUE(engine);
  std::vector<Chain> chains;
  for (int i = 0; i < 8; ++i) chains.push_back(test_chain(i, 60));
  // What comes faster than the drive writes is dropped: it is offered again.
  for (int round = 0; round < 200 && engine->status().tiers[1].blocks <= 120; ++round) {
    store_and_wait(*engine, chains[static_cast<std::size_t>(round) % chains.size()]);
    (void)wait_for_blocks(*engine, 1, 121, Seconds(0.05));
  }
  ASSERT_GT(engine->status().tiers[1].blocks, 120U) << describe(*engine, 1);
  engine.reset();
  options.policy.strategy = Strategy::load_always;  // however slow a busy machine makes the files look
  options.policy.stop_loss = 10;
  engine = open(options);
  ASSERT_TRUE(engine);
  int blocks = 0;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const auto load = engine->load(test_request(i + 1, chains[i]));
    load->wait();
    const int right = verified(*load, chains[i]);
    ASSERT_GE(right, 0) << "wrong bytes";
    blocks += right;
  }
  EXPECT_GT(blocks, 100) << "more than memory alone holds";
  EXPECT_EQ(engine->status().tiers[1].corrupt, 0U);
}

TEST(Engine, WhatLeavesFlashGoesOnToTheDiskThroughStaging) {
  const ScratchDirectory flash;
  const ScratchDirectory disk;
  EngineOptions options = test_options(60, flash.path(), Bytes(kRowBytes * 160));
  options.policy.tiers.push_back(test_tier("hdd", Bytes(kRowBytes * 2000)));
  options.policy.tiers.back().paths = {disk.path()};
  const auto engine = open(std::move(options));
  ASSERT_TRUE(engine);
  std::vector<Chain> chains;
  SteadyClock clock;
  for (int i = 0; i < 40 && engine->status().tiers[2].blocks < 30; ++i) {
    chains.push_back(test_chain(i, 30));
    store_and_wait(*engine, chains.back());
    clock.sleep(Seconds(0.05));
  }
  EXPECT_GE(engine->status().tiers[2].blocks, 30U);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const auto load = engine->load(test_request(i + 1, chains[i]));
    load->wait();
    ASSERT_GE(verified(*load, chains[i]), 0) << "wrong bytes";
  }
  EXPECT_GT(engine->status().tiers[2].blocks_read, 0U);
}

TEST(Engine, SeveralDirectoriesOfATierAreStriped) {
  const ScratchDirectory one;
  const ScratchDirectory two;
  EngineOptions options = test_options(0, one.path(), Bytes(std::int64_t{512} << 20));
  options.policy.tiers[0].paths.push_back(two.path());
  const Chain keys = test_chain(1, 400);
  {
    const auto engine = open(options);
    ASSERT_TRUE(engine);
    for (std::size_t blocks = 100; blocks <= 400; blocks += 100) {
      const Chain front(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(blocks));
      ASSERT_TRUE(store_until_held(*engine, front, 0)) << blocks << ": " << describe(*engine, 0);
    }
  }
  const auto engine = open(options);
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->status().tiers[0].blocks, 400U);
  std::vector<std::byte> host(kRowBytes * 400);
  LoadOptions load_options;
  for (std::size_t i = 0; i < 400; ++i) load_options.into.push_back(host.data() + i * kRowBytes);
  EXPECT_EQ(engine->load(test_request(1, keys), std::move(load_options))->wait().ready, 400U);
  for (std::size_t i = 0; i < 400; ++i) {
    ASSERT_TRUE(same(std::span(host).subspan(i * kRowBytes, kRowBytes), keys[i])) << i;
  }
}

TEST(Engine, ALimitOfTheDaySurvivesARestart) {
  const ScratchDirectory scratch;
  EngineOptions options = test_options(0, scratch.path());
  options.policy.tiers[0].write_limit_per_day = Bytes(kRowBytes * 400);  // a tenth of it at once
  const auto kept_in_a_life = [&](int seed) {
    const auto engine = open(options);
    return engine ? store_and_wait(*engine, test_chain(seed, 40)).kept : 0;
  };
  EXPECT_GE(kept_in_a_life(1), 38U) << "the device's own pace is no limit of the day";
  EXPECT_LE(kept_in_a_life(2), 2U);
  options.policy.tiers[0].write_limit_per_day.reset();
  EXPECT_EQ(kept_in_a_life(3), 40U);
}

TEST(Engine, AStoreAfterClosingIsRefused) {
  const auto engine = open(test_options(100, ""));
  ASSERT_TRUE(engine);
  EXPECT_TRUE(engine->close(Seconds(5)));
  const Chain keys = test_chain(1, 1);
  const std::vector<std::byte> row = test_row(keys[0]);
  StoreRequest request{.chain = keys};
  request.rows.push_back(row.data());
  request.on_done = [](const StoreOutcome&) { ADD_FAILURE() << "it was refused"; };
  const Result<void> taken = engine->store(std::move(request));
  ASSERT_TRUE(taken.has_error());
  EXPECT_EQ(taken.error().kind, ErrorKind::interrupted);
}

TEST(Engine, CopiesIntoTheRowsOfTheHost) {
  const auto engine = open(test_options(100, ""));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 10);
  store_and_wait(*engine, keys);
  std::vector<std::byte> host(kRowBytes * 10);
  LoadOptions options;
  for (int i = 0; i < 10; ++i) options.into.push_back(host.data() + i * kRowBytes);
  const auto load = engine->load(test_request(1, keys), std::move(options));
  EXPECT_EQ(load->wait().ready, 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(same(std::span(host).subspan(i * kRowBytes, kRowBytes), keys[i])) << i;
  }
}

TEST(Engine, ALoadLargerThanItsStagingGoesOnAsRowsAreReleased) {
  const ScratchDirectory scratch;
  EngineOptions options = test_options(0, scratch.path());
  options.policy.engine.staging = Bytes(kRowBytes * 16);
  options.policy.stop_loss = 10;
  const auto engine = open(std::move(options));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 80);
  for (std::size_t blocks = 8; blocks <= 80; blocks += 8) {
    const Chain front(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(blocks));
    ASSERT_TRUE(store_until_held(*engine, front, 0)) << blocks << ": " << describe(*engine, 0);
  }
  const auto load = engine->load(test_request(1, keys));
  ASSERT_EQ(load->count(), 80U);
  for (std::uint32_t i = 0; i < 80; ++i) {
    ASSERT_GT(load->wait(i + 1).ready, i) << "block " << i << ", " << to_string(load->progress().end);
    ASSERT_TRUE(same(load->row(i), keys[i])) << i;
    load->release(i + 1);
  }
  EXPECT_EQ(load->progress().end, LoadEnd::complete);
}

TEST(Engine, LoadsOutliveTheEngine) {
  std::shared_ptr<Load> load;
  const Chain keys = test_chain(1, 10);
  {
    const auto engine = open(test_options(100, ""));
    store_and_wait(*engine, keys);
    load = engine->load(test_request(1, keys));
    load->wait();
  }
  EXPECT_EQ(verified(*load, keys), 10);
  load->release(10);
}

TEST(Engine, ASecondEngineOnADirectoryIsToldWhoHasIt) {
  const ScratchDirectory scratch;
  const auto first = open(test_options(0, scratch.path()));
  ASSERT_TRUE(first);
  const auto second = Engine::open(test_options(0, scratch.path()));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
  EXPECT_NE(second.error().message().find("pid " + std::to_string(getpid())), std::string::npos)
      << second.error().message();
}

TEST(Engine, ADirectoryOfOtherBytesIsRefusedOrReplaced) {
  const ScratchDirectory scratch;
  { store_and_wait(*open(test_options(0, scratch.path())), test_chain(1, 20)); }
  EngineOptions other = test_options(0, scratch.path());
  other.name.model = "another@1";
  const auto refused = Engine::open(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::mismatch) << refused.error().message();
  other.policy.engine.replace_foreign = true;
  const auto replaced = Engine::open(other);
  ASSERT_TRUE(replaced) << replaced.error().message();
  EXPECT_EQ((*replaced)->status().tiers[0].blocks, 0U);
}

TEST(Engine, TellsAllThatIsWrongAtOnce) {
  EngineOptions options = test_options(100, "/nowhere/one");
  options.policy.tiers.push_back(test_tier("hdd", Bytes(std::int64_t{1} << 30)));
  options.policy.tiers.back().paths = {"/nowhere/two"};
  const auto engine = Engine::open(std::move(options));
  ASSERT_FALSE(engine);
  const std::string message = engine.error().message();
  EXPECT_NE(message.find("/nowhere/one"), std::string::npos) << message;
  EXPECT_NE(message.find("/nowhere/two"), std::string::npos) << message;
}

TEST(Engine, RunsWithThisMachinesProfileOnly) {
  EngineOptions options = test_options(100, "");
  options.other_machine = false;
  options.profile.provenance.cpu = "Another Processor";
  const auto engine = Engine::open(options);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().kind, ErrorKind::mismatch);
  EXPECT_NE(engine.error().message().find("Another Processor"), std::string::npos)
      << engine.error().message();
  const MachineFacts facts = machine_facts();
  options.profile.provenance.cpu = facts.cpu;
  options.profile.provenance.cores = facts.cores;
  options.profile.provenance.memory = facts.memory;
  EXPECT_TRUE(Engine::open(options));
}

TEST(Engine, StoreSaysWhatIsWrongWithARequest) {
  const auto engine = open(test_options(10, ""));
  EXPECT_EQ(engine->store({.chain = test_chain(1, 3)}).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(engine->store({}).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(engine->store({.chain = test_chain(1, 1), .rows = {nullptr}}).error().kind, ErrorKind::bad_input);
}

TEST(Engine, ManyThreadsStoreAndLoadAtOnceAndNoByteIsWrong) {
  const ScratchDirectory scratch;
  EngineOptions options = test_options(200, scratch.path());
  const auto engine = open(std::move(options));
  ASSERT_TRUE(engine);
  std::atomic<int> wrong = 0;
  std::atomic<int> loaded = 0;
  std::vector<std::thread> hosts;
  for (int host = 0; host < 4; ++host) {
    hosts.emplace_back([&, host] {
      Random random(static_cast<std::uint64_t>(host));
      for (int turn = 0; turn < 30; ++turn) {
        const Chain front = test_chain(static_cast<std::int32_t>(random.below(6)), 30);
        const Chain keys = test_chain(static_cast<std::int32_t>(random.below(3)), 45, front);
        const RequestId id = static_cast<RequestId>(host * 1000 + turn + 1);
        engine->hint(test_request(id, keys));
        const auto load = engine->load(test_request(id, keys));
        if (turn % 7 == 3) engine->cancel(id);
        load->wait();
        const int right = verified(*load, keys);
        if (right < 0) ++wrong;
        loaded += std::max(right, 0);
        store_and_wait(*engine, keys);
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(loaded, 500);
  EXPECT_TRUE(engine->close(Seconds(10)));
}

}  // namespace
}  // namespace fulcrum::test
