// How an engine ends: within any limit, with an answer for everybody, also for who asks it afterwards.
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "engine/store_door.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/faults.h"
#include "tests/engine/waiting.h"

namespace fulcrum::test {
namespace {

bool close_soon(Engine& engine, Seconds limit) {
  return soon(std::async(std::launch::async, [&] { return engine.close(limit); }));
}

TEST(Closing, TakesAnyLimit) {
  const double endless = std::numeric_limits<double>::infinity();
  for (const double limit : {1e6, 1e10, 1e300, endless}) {
    const ScratchDirectory scratch;
    const auto engine = test_engine(test_options(100, scratch.path()));
    ASSERT_TRUE(engine);
    store_and_wait(*engine, test_chain(1, 60));
    EXPECT_TRUE(close_soon(*engine, Seconds(limit))) << limit;
  }
}

TEST(Closing, ALimitThatIsNoTimeLeavesAtOnceWhatDoesNotEnd) {
  for (const double limit : {0.0, -5.0, -std::numeric_limits<double>::infinity(), std::nan("")}) {
    const ScratchDirectory scratch;
    SickBay bay;
    auto engine = engine::open_engine(test_options(0, scratch.path()), bay.wrap());
    ASSERT_TRUE(engine) << engine.error().message();
    bay.stall();
    store_and_wait(**engine, test_chain(1, 20));
    EXPECT_FALSE(close_soon(**engine, Seconds(limit))) << limit;
    bay.release();
  }
}

TEST(Closing, WhatWasTakenIsAnsweredByTheTimeItIsClosed) {
  const Chain keys = test_chain(1, 50);
  std::vector<std::vector<std::byte>> rows;
  for (const BlockKey& key : keys) rows.push_back(test_row(key));
  for (int round = 0; round < 20; ++round) {
    const auto engine = test_engine(test_options(100, ""));
    ASSERT_TRUE(engine);
    StoreRequest request{.chain = keys};
    for (const auto& row : rows) request.rows.push_back(row.data());
    std::atomic<int> answers = 0;
    request.on_done = [&](const StoreOutcome&) { ++answers; };
    LoadOptions options;
    options.on_progress = [&](const LoadProgress& now) { answers += now.end != LoadEnd::running ? 1 : 0; };
    ASSERT_TRUE(engine->store(std::move(request)));
    const auto load = engine->load(test_request(1, keys), std::move(options));
    EXPECT_TRUE(engine->close(Seconds(5)));
    ASSERT_EQ(answers, 2) << "round " << round;
  }
}

TEST(Closing, WhatWasTakenIsAnsweredAlsoWhereThereIsNoTimeForIt) {
  const auto engine = test_engine(test_options(100, ""));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 4);
  std::promise<void> entered;
  std::promise<void> leave;
  LoadOptions options;
  options.on_progress = [&](const LoadProgress&) {  // keeps the engine thread from its work
    entered.set_value();
    leave.get_future().wait();
  };
  const auto load = engine->load(test_request(1, keys), std::move(options));
  soon(entered.get_future());
  const std::vector<std::byte> row(kRowBytes);
  StoreRequest request{.chain = keys, .rows = std::vector(keys.size(), row.data())};
  std::promise<void> answered;
  request.on_done = [&](const StoreOutcome&) { answered.set_value(); };
  ASSERT_TRUE(engine->store(std::move(request)));
  auto closed = std::async(std::launch::async, [&] { return engine->close(Seconds(0)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  leave.set_value();
  soon(answered.get_future());
  EXPECT_FALSE(soon(std::move(closed)));
}

TEST(Closing, WhoLoadsAfterwardsIsToldToComputeOnTheEngineThread) {
  const auto engine = test_engine(test_options(100, ""));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 4);
  store_and_wait(*engine, keys);
  EXPECT_TRUE(engine->close(Seconds(5)));
  Request request = test_request(1, keys);
  request.resident = Tokens(kBlockTokens);
  std::promise<std::pair<LoadProgress, std::thread::id>> told;
  LoadOptions options;
  options.on_progress = [&](const LoadProgress& now) { told.set_value({now, std::this_thread::get_id()}); };
  const auto load = engine->load(request, std::move(options));
  EXPECT_EQ(load->progress().end, LoadEnd::cancelled);
  EXPECT_EQ(load->count(), 0U);
  for (const Plan& plan : {load->plan(), engine->plan(request)}) {
    EXPECT_EQ(plan.to_load(), Tokens(0));
    EXPECT_EQ(plan.to_compute(), request.prompt - request.resident);
  }
  const auto [now, thread] = soon(told.get_future());
  EXPECT_EQ(now.end, LoadEnd::cancelled);
  EXPECT_NE(thread, std::this_thread::get_id());
  engine->hint(request);
  engine->cancel(1);
}

TEST(Closing, WhoLoadsAfterwardsIsAnsweredBeforeTheEngineIsGone) {
  std::atomic<int> calls = 0;
  std::shared_ptr<Load> load;
  {
    const auto engine = test_engine(test_options(100, ""));
    ASSERT_TRUE(engine);
    EXPECT_TRUE(engine->close(Seconds(5)));
    LoadOptions options;
    options.on_progress = [&](const LoadProgress&) { ++calls; };
    load = engine->load(test_request(1, test_chain(1, 4)), std::move(options));
  }
  EXPECT_EQ(calls, 1);
}

TEST(StoreDoor, CountsWhoIsInsideAndLetsNobodyInOnceItIsShut) {
  using Answer = engine::StoreDoor::Answer;
  engine::StoreDoor door(2);
  EXPECT_EQ(door.enter(), Answer::in);
  EXPECT_EQ(door.enter(), Answer::in);
  EXPECT_EQ(door.enter(), Answer::full);
  door.leave();
  EXPECT_FALSE(door.empty());
  door.shut();
  EXPECT_EQ(door.enter(), Answer::shut) << "there is room, but nobody answers any more";
  EXPECT_FALSE(door.empty()) << "who came in before is waited for";
  door.turn_back();
  EXPECT_TRUE(door.empty());
  EXPECT_EQ(door.refused(), 2U);
}

TEST(StoreDoor, WhoCameInIsSeenByWhoShutsIt) {
  for (int round = 0; round < 200; ++round) {
    engine::StoreDoor door(1 << 20);
    std::atomic<int> in = 0;
    std::thread hosts([&] {
      while (door.enter() == engine::StoreDoor::Answer::in) ++in;
    });
    while (door.empty()) std::this_thread::yield();
    door.shut();
    hosts.join();
    for (; in > 0; --in) {
      ASSERT_FALSE(door.empty());
      door.leave();
    }
    ASSERT_TRUE(door.empty());
  }
}

}  // namespace
}  // namespace fulcrum::test
