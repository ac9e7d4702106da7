// The misbehaving tiers misbehave as they say, and the tier contract finds them out.
#include "tests/support/tiers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/tiers/tier_contract.h"
#include "tests/tiers/tier_contract_host.h"
#include "tiers/dram_tier.h"

namespace fulcrum::test {
namespace {

constexpr std::size_t kRows = 96;

/// A tier of memory on a clock of its own, which the decorator may use as well.
Result<TierUnderTest> honest(
    const std::function<std::unique_ptr<Tier>(std::unique_ptr<Tier>, ManualClock&)>& wrap) {
  auto pool = RowPool::create({.row_bytes = Bytes(5000), .rows = kRows});
  if (pool.has_error()) return pool.error();
  auto clock = std::make_shared<ManualClock>();
  auto tier = std::make_unique<DramTier>(*pool, Bytes(5000 * kRows), *clock);
  auto wrapped = wrap(std::move(tier), *clock);
  return TierUnderTest{clock, std::move(wrapped)};
}

template <class Decorator, class... Arguments>
TierFactory decorated(std::string name, Arguments... arguments) {
  return {std::move(name), [=] {
            return honest([=](std::unique_ptr<Tier> inner, ManualClock& /*clock*/) {
              return std::make_unique<Decorator>(std::move(inner), arguments...);
            });
          }};
}

TierFactory slow() {
  return {"slow", [] {
            return honest([](std::unique_ptr<Tier> inner, ManualClock& clock) {
              return std::make_unique<SlowTier>(std::move(inner), clock, Seconds(0.05));
            });
          }};
}

TierFactory stalling() {
  return {"released", [] {
            return honest([](std::unique_ptr<Tier> inner, ManualClock& clock) {
              return std::make_unique<StallingTier>(std::move(inner), clock);
            });
          }};
}

INSTANTIATE_TEST_SUITE_P(PassThrough, TierContract, on_all_laws(decorated<PassThroughTier>("plain")),
                         law_name);
INSTANTIATE_TEST_SUITE_P(Counting, TierContract, on_all_laws(decorated<CountingTier>("plain")), law_name);
INSTANTIATE_TEST_SUITE_P(Faulty, TierContract,
                         on_all_laws(decorated<FaultyTier>("without_fault", TierFault{})), law_name);
INSTANTIATE_TEST_SUITE_P(Slow, TierContract, on_all_laws(slow()), law_name);
INSTANTIATE_TEST_SUITE_P(Stalling, TierContract, on_all_laws(stalling()), law_name);

const TierLaw& law_named(const std::string& name) {
  return *std::ranges::find(tier_laws(), name, &TierLaw::name);
}

TEST(TierContractItself, FindsEveryLieOfALyingTier) {
  for (const auto& [lie, law] : std::vector<std::pair<TierLie, std::string>>{
           {TierLie::flipped_byte, "ReadsBackWhatWasWritten"},
           {TierLie::other_block, "ReadsBackWhatWasWritten"},
           {TierLie::lost_write, "ReadsBackWhatWasWritten"},
           {TierLie::keeps_erased, "ErasedIsForgotten"},
           {TierLie::early_row, "AnyHistoryGivesTheRightBytes"},
           {TierLie::late_touch, "CountedRowsAreTheCallersAgain"},
           {TierLie::silent_loss, "CapacityIsNeverExceeded"},
           {TierLie::wrong_position, "RunsListWhatCanBeRead"},
           {TierLie::over_capacity, "CapacityIsNeverExceeded"},
           {TierLie::miscounted_miss, "WhatIsNotHeldIsNotFound"},
           {TierLie::failed_success, "WhatIsNotHeldIsNotFound"},
           {TierLie::counts_twice, "WritingAgainIsHarmless"},
           {TierLie::spoils_erased, "ErasingWhatIsReadSpoilsNothing"},
           {TierLie::keeps_cancelled, "CancelledJobsEnd"},
           {TierLie::stays_open, "AClosedTierTakesNoJobs"},
       }) {
    const Violations found = violations(decorated<LyingTier>("lying", lie), law_named(law));
    EXPECT_FALSE(found.empty()) << "lie " << static_cast<int>(lie) << " passes " << law;
  }
}

TEST(TierContractItself, FindsATierThatNeverEndsItsJobs) {
  const TierFactory stuck{"stuck", [] {
                            return honest([](std::unique_ptr<Tier> inner, ManualClock& clock) {
                              auto tier = std::make_unique<StallingTier>(std::move(inner), clock);
                              tier->stall();
                              return tier;
                            });
                          }};
  const Violations found = violations(stuck, law_named("EveryJobEndsOnce"));
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found.front().find("never ended"), std::string::npos) << found.front();
}

TEST(FaultyTier, FailsTheJobItWasToldToAndLeavesNothingOfIt) {
  auto made =
      decorated<FaultyTier>("faulty", TierFault{.kind = ErrorKind::no_space, .nth = 2, .only_reads = false})
          .make();
  ASSERT_TRUE(made.has_value());
  auto& tier = static_cast<FaultyTier&>(*made->tier);
  TierHost host(tier);
  const Chain chain = make_chain(6, 1);
  host.store(chain.part(0, 3));
  const JobId second = host.write(chain.part(3, 3));
  host.drain();
  EXPECT_EQ(host.job(second).result.error().kind, ErrorKind::no_space);
  EXPECT_EQ(host.job(second).blocks, 0U);
  EXPECT_FALSE(tier.contains(chain.keys[3]));
  EXPECT_EQ(tier.injected(), 1U);
  EXPECT_EQ(tier.tally().failed_jobs, 1U);
  host.store(chain.part(3, 3));
  host.expect_readable(chain);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(SlowTier, HoldsEventsBackForItsDelayOnItsClock) {
  auto made = slow().make();
  ASSERT_TRUE(made.has_value());
  auto& clock = *static_cast<ManualClock*>(made->keeps.get());
  TierHost host(*made->tier);
  host.write(make_chain(2, 1));
  EXPECT_FALSE(host.poll(Seconds(0.02)));
  EXPECT_TRUE(host.poll(Seconds(5)));
  EXPECT_NEAR(clock.now().value(), 0.05, 0.011);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StallingTier, EndsNothingUntilItIsReleased) {
  auto made = stalling().make();
  ASSERT_TRUE(made.has_value());
  auto& tier = static_cast<StallingTier&>(*made->tier);
  TierHost host(tier);
  const Chain chain = make_chain(4, 1);
  host.store(chain);
  tier.stall();
  const JobId read = host.read(chain);
  tier.cancel(read);
  EXPECT_FALSE(host.poll(Seconds(100)));
  EXPECT_EQ(tier.in_flight(), 1U);
  EXPECT_EQ(tier.close(Seconds(1)).error().kind, ErrorKind::timed_out);
  tier.release();
  host.drain();
  EXPECT_EQ(host.job(read).ends, 1);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StallingTier, HearsAWakeUpWhileItIsStalled) {
  SteadyClock clock;
  auto made = decorated<PassThroughTier>("plain").make();
  ASSERT_TRUE(made.has_value());
  StallingTier tier(std::move(made->tier), clock);
  TierHost host(tier);
  tier.stall();
  host.write(make_chain(1, 1));
  std::atomic<bool> returned = false;
  std::thread poller([&] {
    host.poll(Seconds(30));
    returned = true;
  });
  while (!returned) {
    tier.wake();
    clock.sleep(1_ms);
  }
  poller.join();
  EXPECT_EQ(tier.in_flight(), 1U);
  tier.release();
  host.drain();
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(CountingTier, RemembersTheJobs) {
  auto made = decorated<CountingTier>("counting").make();
  ASSERT_TRUE(made.has_value());
  auto& tier = static_cast<CountingTier&>(*made->tier);
  TierHost host(tier);
  const Chain chain = make_chain(4, 1);
  host.store(chain);
  host.expect_readable(chain.part(1, 2));
  ASSERT_EQ(tier.jobs().size(), 2U);
  EXPECT_FALSE(tier.jobs()[0].reads);
  EXPECT_EQ(tier.jobs()[1].keys, chain.part(1, 2).keys);
  EXPECT_EQ(tier.in_flight_peak(), 1U);
}

}  // namespace
}  // namespace fulcrum::test
