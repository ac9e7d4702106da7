// The decision log of an engine: in its file soon, and never in the way.
#include <sys/stat.h>

#include <fstream>

#include "tests/engine/engine_fixture.h"
#include "tests/engine/waiting.h"

namespace fulcrum::test {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(DecisionLog, IsInItsFileWhileTheEngineRuns) {
  const ScratchDirectory scratch;
  EngineOptions options = test_options(100, "");
  options.decision_log = scratch.path() + "/decisions";
  const auto engine = test_engine(std::move(options));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 4);
  for (RequestId id = 1; id <= 3; ++id) engine->load(test_request(id, keys))->wait();
  SteadyClock clock;
  const std::string path = scratch.path() + "/decisions";
  for (int i = 0; i < 1000 && lines_of(path).size() < 3; ++i) clock.sleep(Seconds(0.01));
  const std::vector<std::string> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 3U) << "a kill now would lose what is not there yet";
  EXPECT_NE(lines[2].find("req=3"), std::string::npos) << lines[2];
  EXPECT_TRUE(engine->status().alarms.empty());
}

TEST(DecisionLog, ThatCannotBeOpenedIsToldWithAllOtherTroubles) {
  EngineOptions options = test_options(100, "/nowhere/tier");
  options.decision_log = "/nowhere/decisions";
  const auto engine = Engine::open(std::move(options));
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().message().find("/nowhere/decisions"), std::string::npos)
      << engine.error().message();
  EXPECT_NE(engine.error().message().find("/nowhere/tier"), std::string::npos) << engine.error().message();
}

TEST(DecisionLog, OnAFullDiskLosesLinesAndSaysSo) {
  EngineOptions options = test_options(100, "");
  options.decision_log = "/dev/full";
  const auto engine = test_engine(std::move(options));
  ASSERT_TRUE(engine);
  engine->load(test_request(1, test_chain(1, 4)))->wait();
  SteadyClock clock;
  for (int i = 0; i < 1000 && engine->status().alarms.empty(); ++i) clock.sleep(Seconds(0.01));
  ASSERT_EQ(engine->status().alarms.size(), 1U);
  EXPECT_NE(engine->status().alarms[0].find("ENOSPC"), std::string::npos) << engine->status().alarms[0];
}

TEST(DecisionLog, OnADiskThatIsStuckHoldsNothingUp) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::fstream nobody_reads(path, std::ios::in | std::ios::out);  // it fills up
  EngineOptions options = test_options(100, "");
  options.decision_log = path;
  const auto engine = test_engine(std::move(options));
  ASSERT_TRUE(engine);
  const Chain keys = test_chain(1, 4);
  store_and_wait(*engine, keys);
  for (RequestId id = 1; id <= 2000; ++id) {
    std::promise<LoadEnd> end;
    LoadOptions load_options;
    load_options.on_progress = [&](const LoadProgress& now) {
      if (now.end != LoadEnd::running) end.set_value(now.end);
    };
    const auto load = engine->load(test_request(id, keys), std::move(load_options));
    ASSERT_EQ(soon(end.get_future()), LoadEnd::complete) << id;
  }
  EXPECT_TRUE(soon(std::async(std::launch::async, [&] { return engine->close(Seconds(5)); })));
}

}  // namespace
}  // namespace fulcrum::test
