// An engine whose memory runs out at any of its allocations: open() is an error that leaves nothing behind; a
// running engine goes on, refuses, or stops the process with its message; and whatever has happened, the
// next engine on the directory serves right bytes only.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <functional>

#include "base/clock.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/memory/failing_new.h"

namespace fulcrum::test {
namespace {

constexpr std::int64_t kDramRows = 16;
constexpr std::size_t kBlocks = 12;
constexpr std::int32_t kChains = 4;
constexpr Seconds kPatience{5};

EngineOptions options_in(const ScratchDirectory& directory) {
  EngineOptions options = test_options(kDramRows, directory.path(), Bytes(std::int64_t{8} << 20));
  options.policy.engine.staging = Bytes(kRowBytes * 24);
  options.policy.engine.copy_threads = 1;
  return options;
}

/// Every one of the first allocations, then ever fewer, somewhere in steps that grow by a quarter.
std::vector<std::uint64_t> strata(std::uint64_t dense, std::uint64_t last) {
  Random random(20240611);
  std::vector<std::uint64_t> out;
  for (std::uint64_t n = 1; n <= std::min(dense, last); ++n) out.push_back(n);
  for (std::uint64_t n = dense + 1; n < last;) {
    const std::uint64_t step = std::max<std::uint64_t>(1, n / 4);
    out.push_back(n + random.next() % step);
    n += step;
  }
  return out;
}

/// What an engine did that it must not, over a short life; empty where all is well.
std::string live(Engine& engine) {
  SteadyClock clock;
  for (std::int32_t seed = 0; seed < kChains; ++seed) {
    const Chain keys = test_chain(seed, kBlocks);
    std::vector<std::vector<std::byte>> rows;
    StoreRequest store{.chain = keys};
    for (const BlockKey& key : keys) rows.push_back(test_row(key));
    for (const auto& row : rows) store.rows.push_back(row.data());
    std::atomic<int> answers = 0;
    store.on_done = [&](const StoreOutcome& /*outcome*/) { ++answers; };
    Request request = test_request(static_cast<RequestId>(seed + 1), keys);
    LoadOptions limits{.deadline = Seconds(1)};
    Result<void> taken;
    {
      const Exposed exposed;
      taken = engine.store(std::move(store));
      engine.hint(request);
    }
    const Seconds asked = clock.now();
    while (taken && answers == 0 && clock.now() - asked < kPatience) clock.sleep(Seconds(50e-6));
    if (answers != (taken ? 1 : 0)) return "a store has " + std::to_string(answers) + " answers";
    if (!taken && taken.error().kind != ErrorKind::no_memory) return taken.error().message();
    std::shared_ptr<Load> load;
    {
      const Exposed exposed;
      load = engine.load(request, std::move(limits));
    }
    while (load->progress().end == LoadEnd::running && clock.now() - asked < kPatience) {
      clock.sleep(Seconds(50e-6));
    }
    if (load->progress().end == LoadEnd::running) return "a load does not end";
    if (verified(*load, keys) < 0) return "a wrong byte";
    const Exposed exposed;
    load->release(1);
    load.reset();
    engine.cancel(request.id);
    static_cast<void>(engine.status());
  }
  return "";
}

struct End {
  int status = 0;
  std::string said;
  [[nodiscard]] bool survived() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  [[nodiscard]] bool stopped_with_its_message() const {
    const bool own = said.find("fulcrum: out of memory in ") != std::string::npos &&
                     said.find("Give the process more memory") != std::string::npos;
    // std::filesystem of libstdc++ allocates where nothing may be thrown: there the runtime has the last
    // word.
    const bool runtime = said.find("terminate called") != std::string::npos;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && (own || runtime);
  }
};

/// Runs `life` in a process of its own; its answer is an objection, or empty.
End in_child(const std::function<std::string()>& life) {
  std::array<int, 2> pipe_ends{};
  EXPECT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    dup2(pipe_ends[1], STDERR_FILENO);
    const std::string objection = life();
    if (!objection.empty()) std::fprintf(stderr, "%s\n", objection.c_str());
    _exit(objection.empty() ? 0 : 1);
  }
  close(pipe_ends[1]);
  End end;
  std::array<char, 512> text{};
  for (ssize_t n = 0; (n = read(pipe_ends[0], text.data(), text.size())) > 0;) {
    end.said.append(text.data(), static_cast<std::size_t>(n));
  }
  close(pipe_ends[0]);
  EXPECT_EQ(waitpid(child, &end.status, 0), child);
  return end;
}

/// A life whose n-th allocation fails; 0: none does, and `count` is told how many there are.
std::string life_failing_at(const ScratchDirectory& directory, std::uint64_t n, bool for_good,
                            const std::function<void(std::uint64_t)>& count = {}) {
  auto engine = Engine::open(options_in(directory));
  if (!engine) return engine.error().message();
  fail_at(n == 0 ? UINT64_MAX : n, for_good);
  const std::string objection = live(**engine);
  {
    const Exposed exposed;
    (*engine)->close(Seconds(2));
    engine->reset();
  }
  const std::uint64_t counted = fail_never();
  if (count) count(counted);
  return objection;
}

/// Puts all chains into the files of a new directory.
void lay_down(const ScratchDirectory& directory) {
  EngineOptions options = options_in(directory);
  options.policy.tiers.erase(options.policy.tiers.begin());
  auto engine = Engine::open(std::move(options));
  ASSERT_TRUE(engine) << engine.error().message();
  for (std::int32_t seed = 0; seed < kChains; ++seed) {
    store_and_wait(**engine, test_chain(seed, kBlocks));
    EXPECT_TRUE(wait_for_blocks(**engine, 0, kBlocks * static_cast<std::uint64_t>(seed + 1)));
  }
}

/// Loads all chains from a new engine: how many blocks came, -1 for a wrong byte.
int blocks_served(const ScratchDirectory& directory) {
  auto engine = Engine::open(options_in(directory));
  EXPECT_TRUE(engine) << engine.error().message();
  if (!engine) return -1;
  int served = 0;
  for (std::int32_t seed = 0; seed < kChains; ++seed) {
    const Chain keys = test_chain(seed, kBlocks);
    const auto load = (*engine)->load(test_request(static_cast<RequestId>(seed + 1), keys));
    load->wait();
    const int good = verified(*load, keys);
    if (good < 0) return -1;
    served += good;
  }
  return served;
}

void expect_every_failure_harmless(bool for_good) {
  spare_this_thread();
  fail_callers_only(false);
  const ScratchDirectory directory;
  std::uint64_t allocations = 0;
  lay_down(directory);
  ASSERT_EQ(life_failing_at(directory, 0, false, [&](std::uint64_t n) { allocations = n; }), "");
  ASSERT_GT(allocations, 200U) << "the test does not see the allocations";
  int stopped = 0;
  int lives = 0;
  int served = 0;
  for (const std::uint64_t n : strata(8, allocations)) {
    const End end = in_child([&] { return life_failing_at(directory, n, for_good); });
    ASSERT_TRUE(end.survived() || end.stopped_with_its_message())
        << "allocation " << n << ": status " << end.status << ", " << end.said;
    stopped += end.survived() ? 0 : 1;
    ++lives;
    const int good = blocks_served(directory);
    ASSERT_GE(good, 0) << "a wrong byte after allocation " << n << " had failed";
    served += good;
  }
  EXPECT_GT(stopped, 0) << "nothing has failed";
  EXPECT_GT(served, 0) << "nothing was there to be wrong";
  std::printf("%d lives of %llu allocations, %d stopped, %d blocks served afterwards\n", lives,
              static_cast<unsigned long long>(allocations), stopped, served);
}

TEST(OutOfMemory, AtAnyAllocationOfARunningEngineDoesNoHarm) {
  expect_every_failure_harmless(false);
}

TEST(OutOfMemory, ThatLastsFromAnyAllocationOnDoesNoHarm) {
  expect_every_failure_harmless(true);
}

TEST(OutOfMemory, WhileOpeningIsAnErrorAndLeavesNothingBehind) {
  spare_this_thread();
  const ScratchDirectory directory;
  lay_down(directory);
  fail_callers_only(true);  // a thread that runs already would stop this process
  const auto try_open = [&](std::uint64_t n, bool for_good) {
    EngineOptions options = options_in(directory);
    fail_at(n, for_good);
    auto engine = [&] {
      const Exposed exposed;
      return Engine::open(std::move(options));
    }();
    const std::uint64_t counted = fail_never();
    if (engine) return std::pair(counted, false);
    EXPECT_EQ(engine.error().kind, ErrorKind::no_memory) << n << ": " << engine.error().message();
    EXPECT_FALSE(engine.error().next_step.empty());
    return std::pair(counted, true);
  };
  const std::uint64_t allocations = try_open(UINT64_MAX, false).first;
  int errors = 0;
  for (const bool for_good : {false, true}) {
    for (const std::uint64_t n : strata(60, allocations)) {
      const std::int64_t before = allocations_alive();
      errors += try_open(n, for_good).second ? 1 : 0;
      ASSERT_LE(allocations_alive(), before) << "allocation " << n << " has failed and something leaks";
    }
  }
  EXPECT_GT(errors, 60);
  EXPECT_GT(blocks_served(directory), 0) << "the directory is free, and what it held is there";
}

}  // namespace
}  // namespace fulcrum::test
