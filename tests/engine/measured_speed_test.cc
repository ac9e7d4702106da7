// A tier's slowness is learned from what the tier does, never from what the host does with the rows.
#include "tests/engine/sim_chains.h"

namespace fulcrum::test {
namespace {

constexpr std::uint32_t kBlocks = 40;
constexpr Seconds kThinks{0.02};

double slowdown(SimMachine& machine) {
  return machine.core().status().tiers[1].slowdown;
}

/// Loads the chain; the host looks at each part for a while before it lets it go. False where nothing loads.
bool load_in_parts(SimMachine& machine, RequestId id, const Chain& keys, Seconds thinks) {
  const auto load = machine.core().load(sim_request(id, keys, Seconds(10)), {}, machine.now());
  for (std::uint32_t done = 0; done < load->count(); done += 8) {
    while (load->progress().ready < std::min(done + 8, load->count())) {
      if (load->progress().end != LoadEnd::running) return false;
      machine.advance(machine.now() + Seconds(1), [] {});
    }
    live(machine, thinks);
    load->release(std::min(done + 8, load->count()));
    machine.settle();
  }
  load->give_up();
  machine.settle();
  return load->count() == keys.size();
}

TEST(MeasuredSpeed, AHostThatKeepsRowsIsNotASlowTier) {
  SimMachine machine({.staging_rows = 16});
  const Chain keys = chains_on_flash(machine, kBlocks, 1).front();
  for (RequestId id = 1; id <= 20; ++id) {
    ASSERT_TRUE(load_in_parts(machine, id, keys, kThinks)) << "load " << id << ", " << slowdown(machine);
  }
  EXPECT_LT(slowdown(machine), 1.5);
}

TEST(MeasuredSpeed, ATierThatHasBecomeSlowIsNoticedWhereTheHostIsQuick) {
  SimMachine machine({.staging_rows = 64});
  const Chain keys = chains_on_flash(machine, kBlocks, 1).front();
  for (RequestId id = 1; id <= 10; ++id) ASSERT_TRUE(load_in_parts(machine, id, keys, Seconds(0)));
  const double before = slowdown(machine);
  machine.device(SimMachine::kFlash).slow(200);
  for (RequestId id = 11; id <= 20; ++id) (void)load_in_parts(machine, id, keys, Seconds(0));
  EXPECT_LT(before, 3);
  EXPECT_GT(slowdown(machine), 5 * before);
}

TEST(MeasuredSpeed, ATierThatWasSlowIsTriedAgainAndUsedOnceItIsQuick) {
  SimMachine machine({.staging_rows = 64});
  const Chain keys = chains_on_flash(machine, kBlocks, 1).front();
  const auto planned = [&](RequestId id) {
    return machine.core().plan(sim_request(id, keys), machine.now()).run_count > 0;
  };
  machine.device(SimMachine::kFlash).slow(1000);
  RequestId id = 1;
  for (; id <= 30 && planned(id); ++id) (void)load_in_parts(machine, id, keys, Seconds(0));
  ASSERT_FALSE(planned(id)) << "it is not worth its loads, " << slowdown(machine);
  machine.device(SimMachine::kFlash).slow(1);
  const Seconds start = machine.now();
  for (; slowdown(machine) > 2 && machine.now() < start + Seconds(4 * 3600); ++id) {
    if (planned(id)) (void)load_in_parts(machine, id, keys, Seconds(0));
    live(machine, Seconds(10));
  }
  EXPECT_TRUE(planned(id)) << slowdown(machine);
}

// Each load is given up at its stop-loss; what the drive brings afterwards still tells how slow it is.
TEST(MeasuredSpeed, ATierWhoseLoadsAreAllGivenUpIsNotUsedForEver) {
  SimMachine machine({.staging_rows = 64});
  const Chain keys = chains_on_flash(machine, kBlocks, 1).front();
  machine.device(SimMachine::kFlash).slow(8'000);
  int stopped = 0;
  for (RequestId id = 1; id <= 40; ++id) {
    const auto load = machine.core().load(sim_request(id, keys), {}, machine.now());
    if (load->count() == 0) break;
    wait_for(machine, *load, Seconds(20));
    EXPECT_EQ(load->progress().end, LoadEnd::stopped);
    ++stopped;
    load->give_up();
    live(machine, Seconds(1));
  }
  EXPECT_GT(stopped, 0);
  EXPECT_LT(stopped, 20) << slowdown(machine);
}

TEST(MeasuredSpeed, AHostThatGivesItsLoadsUpAtOnceIsNotASlowTier) {
  SimMachine machine({.staging_rows = 64});
  const Chain keys = chains_on_flash(machine, kBlocks, 1).front();
  for (RequestId id = 1; id <= 40; ++id) {
    const auto load = machine.core().load(sim_request(id, keys), {}, machine.now());
    ASSERT_GT(load->count(), 0U) << id << ", " << slowdown(machine);
    load->give_up();
    live(machine, Seconds(1));
  }
  EXPECT_LT(slowdown(machine), 1.5);
}

}  // namespace
}  // namespace fulcrum::test
