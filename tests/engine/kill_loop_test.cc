// A process that stores and loads is killed at any moment, and another goes on with what it left.
//
// The oracle survives every crash: a key names its content, so whatever a life loads is right or wrong
// beyond doubt. kill -9 leaves the page cache: power loss is the simulation's (simulation_test.cc).
// scripts/kill_loop.sh runs it for long.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <sstream>

#include "engine_fixture.h"

namespace fulcrum::test {
namespace {

constexpr int kCycles = 20;
constexpr Seconds kRestartLimit{5};  ///< of a start on a machine that does much else
constexpr Seconds kLongestLife{1};

/// The keys of a session; other worlds have other content under the same keys.
struct World {
  std::uint64_t salt = 0;
  [[nodiscard]] std::vector<std::byte> row(const BlockKey& key) const {
    return test_row({key.high ^ salt, key.low});
  }
  [[nodiscard]] bool right(std::span<const std::byte> bytes, const BlockKey& key) const {
    return same(bytes, {key.high ^ salt, key.low});
  }
};

void say(int out, const std::string& line) {
  static_cast<void>(!write(out, (line + "\n").data(), line.size() + 1));
}

void store(Engine& engine, const World& world, const Chain& keys) {
  std::vector<std::vector<std::byte>> rows;
  StoreRequest request{.chain = keys};
  for (const BlockKey& key : keys) rows.push_back(world.row(key));
  for (const auto& row : rows) request.rows.push_back(row.data());
  std::promise<void> done;
  request.on_done = [&](const StoreOutcome&) { done.set_value(); };
  if (engine.store(std::move(request))) done.get_future().wait();
}

/// One life: until it is killed, or finds a wrong byte.
[[noreturn]] void live(const std::string& directory, const World& world, std::uint64_t seed, int out) {
  const SteadyClock clock;
  const Seconds start = clock.now();
  // With memory in front of the files, or straight into them.
  const std::int64_t memory = seed % 2 == 0 ? 60 : 0;
  const auto engine = Engine::open(test_options(memory, directory));
  if (!engine) {
    say(out, "error " + engine.error().message());
    _exit(1);
  }
  say(out, "open " + std::to_string((clock.now() - start).value()) + " " +
               std::to_string((*engine)->status().tiers.back().blocks));
  Random random(seed);
  std::uint64_t seen = 0;
  for (RequestId id = 1;; ++id) {
    const auto session = static_cast<std::int32_t>(random.below(40));
    const Chain keys = test_chain(session, 10 + random.below(30));
    const auto load = (*engine)->load(test_request(id, keys));
    const std::uint32_t ready = load->wait().ready;
    for (std::uint32_t i = 0; i < ready; ++i) {
      if (world.right(load->row(i), keys[load->first() + i])) continue;
      say(out, "wrong session " + std::to_string(session) + " block " + std::to_string(i));
      _exit(1);
    }
    seen += ready;
    if (id <= 40 || id % 16 == 0) say(out, "seen " + std::to_string(seen));
    store(**engine, world, keys);
  }
}

/// What a life has told.
struct Life {
  std::string trouble;
  bool opened = false;
  Seconds start{};
  std::uint64_t found = 0;  ///< blocks at its start
  std::uint64_t seen = 0;   ///< blocks loaded and right
};

Life parse(const std::string& text) {
  Life life;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    double seconds = 0;
    if (kind == "open") {
      life.opened = static_cast<bool>(words >> seconds >> life.found);
      life.start = Seconds(seconds);
    } else if (kind == "seen") {
      words >> life.seen;
    } else {
      life.trouble = line;
    }
  }
  return life;
}

/// Lets a process live for so long, kills it, and returns what it said.
Life live_for(Seconds time, const std::string& directory, const World& world, std::uint64_t seed) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    live(directory, world, seed, ends[1]);
  }
  close(ends[1]);
  SteadyClock().sleep(time);
  kill(child, SIGKILL);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; (count = read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return parse(text);
}

TEST(KillLoop, NoLifeSeesAWrongByteAndEveryStartIsQuick) {
  // Another seed each time only for who asks for it: scripts/kill_loop.sh.
  const std::uint64_t seed = GTEST_FLAG_GET(shuffle)
                                 ? static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed())
                                 : 1;
  SCOPED_TRACE("seed " + std::to_string(seed));
  const ScratchDirectory scratch;
  Random random(seed);
  std::uint64_t seen = 0;
  int inherited = 0;
  Seconds slowest{};
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    // Short lives as often as long ones: the start is a moment to die, too.
    const Seconds time = kLongestLife * std::pow(50.0, random.uniform() - 1);
    const Life life = live_for(time, scratch.path(), {}, random.next());
    ASSERT_EQ(life.trouble, "") << "cycle " << cycle;
    ASSERT_LT(life.start, kRestartLimit) << "cycle " << cycle;
    slowest = std::max(slowest, life.start);
    seen += life.seen;
    if (life.found > 0) ++inherited;
  }
  const Life last = live_for(kLongestLife, scratch.path(), {}, random.next());
  EXPECT_EQ(last.trouble, "");
  EXPECT_TRUE(last.opened) << "after all that it still starts";
  RecordProperty("blocks_verified", std::to_string(seen + last.seen));
  RecordProperty("slowest_start_ms", std::to_string(slowest.value() * 1e3));
  EXPECT_GT(seen + last.seen, 200U) << "the oracle has had something to look at";
  EXPECT_GT(inherited, 2) << "lives find what earlier ones left";
}

TEST(KillLoop, TheOracleNoticesContentThatWasNeverStoredByThisWorld) {
  const ScratchDirectory scratch;
  std::string trouble;
  for (int attempt = 0; attempt < 10 && trouble.empty(); ++attempt) {
    static_cast<void>(live_for(Seconds(0.5), scratch.path(), {}, 1));
    trouble = live_for(Seconds(0.5), scratch.path(), {.salt = 1}, 2).trouble;
  }
  EXPECT_EQ(trouble.rfind("wrong session", 0), 0U) << trouble;
}

}  // namespace
}  // namespace fulcrum::test
