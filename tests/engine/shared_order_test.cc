// Loads that share an order: each gets its blocks, whatever the others do, and none waits for what never
// comes.
#include "tests/engine/sim_chains.h"

namespace fulcrum::test {
namespace {

constexpr RequestId kOccupant = 1;
constexpr Seconds kLead{4};
constexpr double kSoon = 1;  // the deadline of a load is at 5 s

// One load has the gate of the flash tier; what comes for another chain is held back.
struct GatedMachine {
  GatedMachine() : machine({.flash_gate = 1}) {
    const std::vector<Chain> chains = chains_on_flash(machine, 10, 2);
    waited = chains[1];
    occupant = machine.core().load(sim_request(kOccupant, chains[0]), {}, machine.now());
    EXPECT_EQ(occupant->count(), 10U);
  }
  std::shared_ptr<engine::LoadState> load(RequestId id) {
    auto load = machine.core().load(sim_request(id, waited, kLead), {}, machine.now());
    EXPECT_EQ(load->count(), 10U);
    EXPECT_EQ(machine.core().decider().counters(1).loads_queued, 1) << "one order is held back for all";
    return load;
  }
  SimMachine machine;
  Chain waited;
  std::shared_ptr<engine::LoadState> occupant;
};

TEST(SharedOrder, ALoadThatSharesAPreloadGetsItWhenTheHintedRequestIsDropped) {
  GatedMachine gated;
  gated.machine.core().hint(sim_request(2, gated.waited, kLead), gated.machine.now());
  const auto shares = gated.load(3);
  gated.machine.core().cancel(2, gated.machine.now());
  EXPECT_LT(wait_for(gated.machine, *shares, Seconds(10)), kSoon);
  EXPECT_EQ(shares->progress().end, LoadEnd::complete);
  EXPECT_EQ(verified(*shares, gated.waited), 10);
}

TEST(SharedOrder, ALoadThatSharesAPreloadGetsItWhenTheHintedRequestRuns) {
  GatedMachine gated;
  gated.machine.core().hint(sim_request(2, gated.waited, kLead), gated.machine.now());
  const auto shares = gated.load(3);
  const auto own = gated.load(2);
  EXPECT_LT(wait_for(gated.machine, *shares, Seconds(10)), kSoon);
  EXPECT_EQ(shares->progress().end, LoadEnd::complete);
  EXPECT_LT(wait_for(gated.machine, *own, Seconds(10)), kSoon);
  EXPECT_EQ(own->progress().end, LoadEnd::complete);
}

TEST(SharedOrder, OfTwoLoadsOfOneRequestTheOtherGoesOnWhenOneIsGivenUp) {
  GatedMachine gated;
  const auto one = gated.load(2);
  const auto other = gated.load(2);
  one->give_up();
  gated.machine.settle();
  EXPECT_LT(wait_for(gated.machine, *other, Seconds(10)), kSoon);
  EXPECT_EQ(other->progress().end, LoadEnd::complete);
  EXPECT_EQ(verified(*other, gated.waited), 10);
}

TEST(SharedOrder, LoadsEndAtOnceWhereTheirTierCanNotBeReadAnyMore) {
  GatedMachine gated;
  const auto waits = gated.load(2);
  gated.machine.device(SimMachine::kFlash).stall();
  EXPECT_LT(wait_for(gated.machine, *waits, Seconds(10)), 3) << "a stall is noticed after 2 s";
  EXPECT_EQ(waits->progress().end, LoadEnd::stopped);
  EXPECT_EQ(gated.occupant->progress().end, LoadEnd::stopped);
}

}  // namespace
}  // namespace fulcrum::test
