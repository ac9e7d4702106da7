// What a clean end saves: the next life finds what only memory held, as far as time and write limits went.
#include "tests/engine/faults.h"
#include "tests/engine/sim_chains.h"

namespace fulcrum::test {
namespace {

constexpr std::uint32_t kBlocks = 64;

std::unique_ptr<Engine> open(EngineOptions options) {
  auto engine = Engine::open(std::move(options));
  EXPECT_TRUE(engine) << engine.error().message();
  return engine ? std::move(*engine) : nullptr;
}

/// Blocks of a chain that another engine brings after this one, all of them right; -1 where one is wrong.
int next_life(std::unique_ptr<Engine> engine, const EngineOptions& options, const Chain& keys) {
  engine.reset();
  engine = open(options);
  if (!engine) return -1;
  const auto load = engine->load(test_request(1, keys));
  load->wait();
  return verified(*load, keys);
}

TEST(Close, WhatOnlyMemoryHeldIsThereInTheNextLife) {
  const ScratchDirectory scratch;
  const EngineOptions options = test_options(1000, scratch.path());
  const Chain keys = test_chain(1, kBlocks);
  auto engine = open(options);
  ASSERT_EQ(store_and_wait(*engine, keys).kept, kBlocks);
  ASSERT_EQ(engine->status().tiers[1].blocks, 0U) << "memory has room: nothing moved down before";
  EXPECT_TRUE(engine->close(Seconds(10)));
  EXPECT_EQ(next_life(std::move(engine), options, keys), static_cast<int>(kBlocks));
}

TEST(Close, AStoreThatWasTakenJustBeforeIsSavedToo) {
  const ScratchDirectory scratch;
  const EngineOptions options = test_options(1000, scratch.path());
  const Chain keys = test_chain(1, kBlocks);
  auto engine = open(options);
  std::vector<std::vector<std::byte>> rows;
  StoreRequest request{.chain = keys};
  for (const BlockKey& key : keys) rows.push_back(test_row(key));
  for (const auto& row : rows) request.rows.push_back(row.data());
  ASSERT_TRUE(engine->store(std::move(request)));
  EXPECT_TRUE(engine->close(Seconds(10)));
  EXPECT_EQ(next_life(std::move(engine), options, keys), static_cast<int>(kBlocks));
}

TEST(Close, WithoutTimeNothingIsSavedAndTheEndIsCleanAllTheSame) {
  const ScratchDirectory scratch;
  const EngineOptions options = test_options(1000, scratch.path());
  const Chain keys = test_chain(1, kBlocks);
  auto engine = open(options);
  ASSERT_EQ(store_and_wait(*engine, keys).kept, kBlocks);
  (void)engine->close(Seconds(0));
  EXPECT_EQ(next_life(std::move(engine), options, keys), 0);
}

TEST(Close, ADriveThatDoesNotAnswerHoldsTheEndUpNoLongerThanItsLimit) {
  const ScratchDirectory scratch;
  SickBay bay;
  auto engine = engine::open_engine(test_options(1000, scratch.path()), bay.wrap());
  ASSERT_TRUE(engine) << engine.error().message();
  ASSERT_EQ(store_and_wait(**engine, test_chain(1, kBlocks)).kept, kBlocks);
  bay.stall();
  SteadyClock clock;
  const Seconds start = clock.now();
  EXPECT_FALSE((*engine)->close(Seconds(1)));
  const Seconds took = clock.now() - start;
  bay.release();
  EXPECT_GT(took.value(), 0.9) << "it was tried";
  EXPECT_LT(took.value(), 5) << "generous: sanitizers and busy machines";
}

// What an earlier life has used of a limit is not known: an engine begins with none of it.
TEST(Close, AWriteLimitIsKeptAndTheEndIsCleanInTime) {
  constexpr double kRowsPerSecond = 10;
  const ScratchDirectory scratch;
  EngineOptions options = test_options(1000, scratch.path());
  options.policy.tiers[1].write_limit = BytesPerSecond(kRowsPerSecond * kRowBytes);
  const Chain keys = test_chain(1, kBlocks);
  SteadyClock clock;
  const Seconds opened = clock.now();
  auto engine = open(options);
  ASSERT_EQ(store_and_wait(*engine, keys).kept, kBlocks);
  const Seconds start = clock.now();
  EXPECT_TRUE(engine->close(Seconds(2)));
  const Seconds end = clock.now();
  EXPECT_LT((end - start).value(), 6) << "generous: sanitizers and busy machines";
  const int saved = next_life(std::move(engine), options, keys);
  EXPECT_GT(saved, 0);
  EXPECT_LE(saved, (end - opened).value() * kRowsPerSecond);
}

TEST(Close, WhatFlashMayNotTakeTheDiskDoes) {
  SimMachine machine({.flash_write_limit = BytesPerSecond(25.0 * SimMachine::kRow / 60)});
  const Chain keys = sim_chain(1, 40);
  sim_store(machine, keys);
  const Seconds start = machine.now();
  EXPECT_TRUE(machine.restart());
  EXPECT_LE((machine.now() - start).value(), 2.1);
  EXPECT_GT(held(machine, 1, keys), 0U);
  EXPECT_LE(held(machine, 1, keys), 26U);
  EXPECT_EQ(machine.core().decider().indexed_blocks(), 40U);
}

}  // namespace
}  // namespace fulcrum::test
