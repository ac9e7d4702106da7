// The engine's own code through hours of traffic and trouble. A seed that breaks a law is printed, and breaks
// it again.
#include "tests/engine/simulation.h"

#include <gtest/gtest.h>

#include "tests/support/tiers.h"

namespace fulcrum::test {
namespace {

SimulationReport run(const SimulationOptions& options) {
  const SimulationReport report = simulate(options);
  const std::string seed = std::to_string(options.seed);
  testing::Test::RecordProperty("seed_" + seed, report.text());
  return report;
}

TEST(Simulation, AnHourWithoutFaultsBreaksNoLawAndUsesTheFiles) {
  const SimulationReport report = run({.seed = 1, .fault_every = Seconds(0)});
  EXPECT_TRUE(report.broken.empty()) << report.text();
  EXPECT_GT(report.blocks_from_files, 50U) << report.text();
  EXPECT_EQ(report.faults, 0U);
}

class SimulatedTrouble : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SimulatedTrouble, BreaksNoLawInAnHour) {
  const SimulationReport report = run({.seed = GetParam()});
  EXPECT_TRUE(report.broken.empty()) << "seed " << GetParam() << ": " << report.text();
  EXPECT_GT(report.blocks_right, 5000U) << report.text();
  EXPECT_GT(report.faults, 80U) << report.text();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulatedTrouble, testing::Range<std::uint64_t>(1, 4));

TEST(LongSimulation, ADayOfTroubleBreaksNoLaw) {
  const SimulationReport report = run({.seed = 1000, .length = Seconds(86400)});
  EXPECT_TRUE(report.broken.empty()) << report.text();
  EXPECT_GT(report.faults, 2000U) << report.text();
}

TEST(Simulation, TheSameSeedGivesTheSameRun) {
  const SimulationOptions options{.seed = 77, .length = Seconds(600)};
  const SimulationReport first = run(options);
  EXPECT_EQ(first.hash, run(options).hash) << first.text();
  SimulationOptions other = options;
  other.seed = 78;
  EXPECT_NE(first.hash, run(other).hash);
}

/// True where a law about this is broken.
bool breaks(const SimulationReport& report, const std::string& law) {
  return std::ranges::any_of(report.broken,
                             [&](const std::string& told) { return told.find(law) != std::string::npos; });
}

/// What is told of a run whose file tiers are wrapped.
template <class Wrap>
SimulationReport run_on(Wrap wrap, Seconds fault_every) {
  SimulationOptions options{.seed = 3, .length = Seconds(1200), .fault_every = fault_every};
  options.machine.wrap = wrap;
  return simulate(options);
}

TEST(Simulation, NoticesATierThatLiesBehindItsChecksums) {
  const auto lie = [](std::unique_ptr<Tier> tier) {
    return std::make_unique<LyingTier>(std::move(tier), TierLie::flipped_byte);
  };
  const SimulationReport report = run_on(lie, Seconds(0));
  EXPECT_TRUE(breaks(report, "wrong bytes")) << report.text();
}

TEST(Simulation, NoticesATierThatHoldsMoreThanItMay) {
  const auto lie = [](std::unique_ptr<Tier> tier) {
    return std::make_unique<LyingTier>(std::move(tier), TierLie::over_capacity);
  };
  const SimulationReport report = run_on(lie, Seconds(0));
  EXPECT_TRUE(breaks(report, "more than its capacity")) << report.text();
}

/// Never forgives: once it was ill, it says so for ever, in its later lives too.
class SulkingTier final : public PassThroughTier {
 public:
  SulkingTier(std::unique_ptr<Tier> inner, bool& ill) : PassThroughTier(std::move(inner)), ill_(ill) {}
  [[nodiscard]] TierStatus status() const override {
    TierStatus status = PassThroughTier::status();
    ill_ = ill_ || status.health != Health::healthy;
    if (ill_) status.health = Health::degraded;
    return status;
  }

 private:
  bool& ill_;
};

TEST(Simulation, NoticesATierThatDoesNotComeBack) {
  bool ill = false;
  const auto sulk = [&ill](std::unique_ptr<Tier> tier) {
    return std::make_unique<SulkingTier>(std::move(tier), ill);
  };
  const SimulationReport report = run_on(sulk, Seconds(10));
  EXPECT_TRUE(breaks(report, "did not come back")) << report.text();
}

TEST(Simulation, NoticesAnEngineThatOversleepsItsDeadlines) {
  SimulationOptions options{.seed = 4};
  options.machine.oversleep = Seconds(60);
  const SimulationReport report = simulate(options);
  EXPECT_TRUE(breaks(report, "after its deadline")) << report.text();
}

TEST(Simulation, NoticesACallbackThatIsLost) {
  SimulationOptions options{.seed = 6, .length = Seconds(600), .fault_every = Seconds(0)};
  options.machine.loses_callback = 50;
  const SimulationReport report = simulate(options);
  EXPECT_TRUE(breaks(report, "a callback was not told")) << report.text();
}

TEST(Simulation, NoticesARowThatIsNeverGivenBack) {
  const SimulationReport report =
      simulate({.seed = 5, .length = Seconds(600), .fault_every = Seconds(0), .keeps_a_row = true});
  EXPECT_TRUE(breaks(report, "rows are missing")) << report.text();
}

TEST(Simulation, AFrozenClockHoldsNothingUp) {
  SimMachine machine({});
  Random random(1);
  const Seconds now = machine.now();
  const std::vector<std::byte> bytes(SimMachine::kRow, std::byte{7});
  int answered = 0;
  std::vector<BlockKey> chain;
  BlockKey parent = BlockKey::root(SimMachine::name());
  for (std::int32_t i = 0; i < 10; ++i) {
    const std::array<std::int32_t, 1> tokens = {i};
    chain.push_back(parent = BlockKey::next(parent, tokens));
  }
  StoreRequest request{.chain = chain, .rows = std::vector(10, bytes.data())};
  request.on_done = [&](const StoreOutcome&) { ++answered; };
  machine.core().store(std::move(request), now);
  machine.settle();
  Request asked;
  asked.id = 1;
  asked.prompt = Tokens(10 * SimMachine::kBlockTokens);
  asked.blocks = chain;
  const auto load = machine.core().load(asked, {}, now);
  for (int i = 0; i < 100; ++i) {
    machine.core().step(now);
    machine.settle();
  }
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(load->progress().end, LoadEnd::complete);
  EXPECT_EQ(machine.now(), now);
}

}  // namespace
}  // namespace fulcrum::test
