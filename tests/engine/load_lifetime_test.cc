// What a Load promises about its end: when it may go, when its callback comes, and when not any more.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/engine/engine_fixture.h"
#include "tests/engine/faults.h"
#include "tests/engine/waiting.h"

namespace fulcrum::test {
namespace {

// Large enough for several parts: one is being copied whenever a callback tells of the one before.
constexpr std::size_t kManyBlocks = 2000;

/// Calls back when it dies: what a host's callback may capture.
class Witness {
 public:
  explicit Witness(std::function<void()> at_death) : at_death_(std::move(at_death)) {}
  ~Witness() { at_death_(); }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

 private:
  std::function<void()> at_death_;
};

/// An engine whose memory holds one long chain, and rows for the host.
class LongChain : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = test_engine(test_options(kManyBlocks + 1000, ""));
    ASSERT_TRUE(engine_);
    ASSERT_EQ(store_and_wait(*engine_, keys_).kept, kManyBlocks);
  }
  LoadOptions into_host() {
    LoadOptions options;
    for (std::size_t i = 0; i < kManyBlocks; ++i) options.into.push_back(host_.data() + i * kRowBytes);
    return options;
  }
  Chain keys_ = test_chain(1, kManyBlocks);
  std::vector<std::byte> host_ = std::vector<std::byte>(kManyBlocks * kRowBytes);
  std::unique_ptr<Engine> engine_;
};

Task take_one_block(Engine& engine, const Chain& keys, LoadOptions options, std::promise<LoadProgress>& out) {
  LoadProgress seen;
  {
    const auto load = engine.load(test_request(1, keys), std::move(options));
    seen = co_await load->until(1);
  }
  out.set_value(seen);
}

TEST_F(LongChain, ACoroutineMayEndWithItsLoadOnTheEngineThread) {
  std::promise<LoadProgress> out;
  take_one_block(*engine_, keys_, into_host(), out);
  EXPECT_GT(soon(out.get_future()).ready, 0U);
}

TEST_F(LongChain, ACallbackMayDropALoadWhileAPartIsBeingCopiedToRowsThatAreTheHostsAgainThen) {
  const Chain other = test_chain(2, 4);
  store_and_wait(*engine_, other);
  constexpr std::byte kMark{0xee};
  const std::size_t part = (std::size_t{32} << 20) / kRowBytes;
  const std::span<std::byte> last = std::span(host_).subspan((part - 1) * kRowBytes, kRowBytes);
  std::shared_ptr<Load> load = engine_->load(test_request(1, keys_), into_host());
  std::promise<void> left;
  LoadOptions second;
  second.on_progress = [&](const LoadProgress& now) {
    if (now.end == LoadEnd::running) return;
    load.reset();
    std::ranges::fill(last, kMark);
    left.set_value();
  };
  const auto small = engine_->load(test_request(2, other), std::move(second));
  soon(left.get_future());
  EXPECT_TRUE(engine_->close(Seconds(10)));
  EXPECT_TRUE(std::ranges::all_of(last, [=](std::byte byte) { return byte == kMark; }))
      << "a row of the host was written after its load was gone";
}

TEST_F(LongChain, ProgressIsToldPartByPartAndTheEndOnceAlsoWithRowsOfTheHost) {
  std::vector<LoadProgress> told;  // of the engine thread
  LoadOptions options = into_host();
  options.on_progress = [&](const LoadProgress& now) { told.push_back(now); };
  const auto load = engine_->load(test_request(1, keys_), std::move(options));
  load->wait();
  EXPECT_TRUE(engine_->close(Seconds(10)));
  ASSERT_GT(told.size(), 1U) << "it is copied in several parts";
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].end == LoadEnd::running, i + 1 < told.size()) << i;
    EXPECT_GT(told[i].ready, i == 0 ? 0 : told[i - 1].ready) << i;
  }
  EXPECT_EQ(told.back().ready, kManyBlocks);
}

TEST_F(LongChain, ACallbackMayDropItsOwnLoadAndWhatItCapturesOutlivesIt) {
  std::shared_ptr<Load> load;
  std::promise<void> loaded;
  std::promise<void> dead;
  std::atomic<bool> inside = false;
  std::atomic<int> calls = 0;
  LoadOptions options = into_host();
  auto witness = std::make_shared<Witness>([&] {
    EXPECT_FALSE(inside) << "the callback still runs";
    dead.set_value();
  });
  options.on_progress = [&, witness = std::move(witness),
                         ready = loaded.get_future().share()](const LoadProgress&) {
    ready.wait();
    inside = true;
    ++calls;
    load.reset();
    inside = false;
  };
  load = engine_->load(test_request(1, keys_), std::move(options));
  loaded.set_value();
  soon(dead.get_future());
  EXPECT_TRUE(engine_->close(Seconds(10)));
  EXPECT_EQ(calls, 1);
}

/// An engine whose only tier is a file on a device that stalls on demand.
class StalledLoad : public testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options = test_options(0, scratch_.path());
    options.policy.stop_loss = 1000;
    auto opened = engine::open_engine(std::move(options), bay_.wrap());
    ASSERT_TRUE(opened) << opened.error().message();
    engine_ = std::move(*opened);
    store_and_wait(*engine_, keys_);
    ASSERT_TRUE(wait_for_blocks(*engine_, 0, keys_.size()));
    bay_.stall();
  }
  void TearDown() override { bay_.release(); }
  ScratchDirectory scratch_;
  SickBay bay_;
  Chain keys_ = test_chain(1, 40);
  std::unique_ptr<Engine> engine_;
};

TEST_F(StalledLoad, NoCallbackComesOnceItIsGone) {
  std::atomic<int> calls = 0;
  LoadOptions options;
  options.on_progress = [&](const LoadProgress&) { ++calls; };
  auto load = engine_->load(test_request(1, keys_), std::move(options));
  ASSERT_EQ(load->count(), keys_.size());
  load.reset();
  bay_.release();
  EXPECT_TRUE(engine_->close(Seconds(10))) << "all callbacks have come by then";
  EXPECT_EQ(calls, 0);
}

TEST_F(StalledLoad, WhatACallbackCapturesDiesWhereTheEngineCanBeCalled) {
  std::promise<std::size_t> asked;
  LoadOptions options;
  auto witness = std::make_shared<Witness>([&] { asked.set_value(engine_->status().indexed_blocks); });
  options.on_progress = [witness = std::move(witness)](const LoadProgress&) {};
  auto load = engine_->load(test_request(1, keys_), std::move(options));
  load.reset();
  EXPECT_EQ(soon(asked.get_future()), keys_.size());
}

TEST_F(StalledLoad, GoingWaitsForACallbackThatRunsOnTheEngineThread) {
  std::promise<void> entered;
  std::promise<void> leave;
  LoadOptions options;
  options.on_progress = [&](const LoadProgress&) {
    entered.set_value();
    leave.get_future().wait();
  };
  auto load = engine_->load(test_request(1, keys_), std::move(options));
  engine_->cancel(1);
  soon(entered.get_future());
  auto gone = std::async(std::launch::async, [&] { load.reset(); });
  EXPECT_EQ(gone.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout)
      << "the callback uses what its host frees next";
  leave.set_value();
  soon(std::move(gone));
}

Task await_all(Load& load, std::uint32_t blocks, std::promise<LoadProgress>& out) {
  out.set_value(co_await load.until(blocks));
}

TEST_F(StalledLoad, WhoAwaitsALoadThatAnotherThreadDropsIsToldOfItsEnd) {
  std::promise<LoadProgress> out;
  auto load = engine_->load(test_request(1, keys_));
  const std::weak_ptr<Load> watched = load;
  await_all(*load, load->count(), out);
  std::thread([dropped = std::move(load)]() mutable { dropped.reset(); }).join();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(soon(out.get_future()).end, LoadEnd::cancelled);
}

TEST(LoadOfNothing, IsToldToItsCallbackOnce) {
  const auto engine = test_engine(test_options(100, ""));
  ASSERT_TRUE(engine);
  std::vector<LoadProgress> told;
  LoadOptions options;
  options.on_progress = [&](const LoadProgress& now) { told.push_back(now); };
  const auto load = engine->load(test_request(1, test_chain(1, 4)), std::move(options));
  EXPECT_EQ(load->progress().end, LoadEnd::complete);
  EXPECT_TRUE(engine->close(Seconds(5)));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].end, LoadEnd::complete);
}

}  // namespace
}  // namespace fulcrum::test
