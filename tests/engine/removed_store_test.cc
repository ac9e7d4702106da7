// Files of a store that are removed under a running engine: it reads on, and tells the operator in time.
#include <filesystem>

#include "engine_fixture.h"

namespace fulcrum::test {
namespace {

constexpr std::size_t kBlocks = 30;

/// An engine whose file tier holds one chain.
struct Running {
  Running() : keys(test_chain(1, kBlocks)) {
    auto opened = Engine::open(test_options(0, scratch.path()));
    EXPECT_TRUE(opened) << opened.error().message();
    engine = std::move(*opened);
    EXPECT_TRUE(store_until_held(*engine, keys, 0)) << describe(*engine, 0);
  }
  /// What the tier says once it is not healthy; as it is after some seconds otherwise.
  [[nodiscard]] EngineTier after_a_while() const {
    SteadyClock clock;
    for (int i = 0; i < 1000 && engine->status().tiers[0].health == "healthy"; ++i) {
      clock.sleep(Seconds(0.01));
    }
    return engine->status().tiers[0];
  }
  [[nodiscard]] int load(RequestId id) const {
    const auto load = engine->load(test_request(id, keys));
    load->wait();
    return verified(*load, keys);
  }
  ScratchDirectory scratch;
  Chain keys;
  std::unique_ptr<Engine> engine;
};

TEST(RemovedStore, IsReadOnToldAndNotWrittenAnyMore) {
  const Running running;
  const std::string path = running.scratch.path();
  for (const auto& entry : std::filesystem::directory_iterator(path)) std::filesystem::remove_all(entry);
  const EngineTier told = running.after_a_while();
  EXPECT_EQ(told.health, "degraded");
  EXPECT_NE(told.reason.find(path + "/meta"), std::string::npos) << told.reason;
  EXPECT_NE(told.reason.find("restart"), std::string::npos) << told.reason;
  EXPECT_EQ(running.load(1), static_cast<int>(kBlocks)) << "its bytes are there as long as the process is";
  SteadyClock().sleep(Seconds(2.5));  // probes are due meanwhile, which would find that writing works
  EXPECT_EQ(running.engine->status().tiers[0].health, "degraded") << "nothing mends it";
}

TEST(RemovedStore, OneSegmentOfManyIsEnough) {
  const Running running;
  const std::string segment = running.scratch.path() + "/segments/000001";
  ASSERT_TRUE(std::filesystem::remove(segment));
  const EngineTier told = running.after_a_while();
  EXPECT_EQ(told.health, "degraded");
  EXPECT_NE(told.reason.find(segment), std::string::npos) << told.reason;
}

}  // namespace
}  // namespace fulcrum::test
