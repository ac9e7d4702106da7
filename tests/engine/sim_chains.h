// What a test that drives a SimMachine by hand works with: chains, their stores, requests for them.
#pragma once

#include <memory>
#include <vector>

#include "tests/engine/engine_fixture.h"
#include "tests/engine/sim_machine.h"

namespace fulcrum::test {

/// A chain of the simulated namespace; other seeds, other keys.
inline Chain sim_chain(std::int32_t seed, std::size_t blocks) {
  Chain keys;
  BlockKey parent = BlockKey::root(SimMachine::name());
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::array<std::int32_t, 2> tokens = {seed, static_cast<std::int32_t>(i)};
    keys.push_back(parent = BlockKey::next(parent, tokens));
  }
  return keys;
}

inline Request sim_request(RequestId id, const Chain& keys, Seconds lead = Seconds(0)) {
  Request request = test_request(id, keys);
  request.lead = lead;
  return request;
}

/// Lets the machine live on for a while.
inline void live(SimMachine& machine, Seconds time) {
  for (const Seconds until = machine.now() + time; machine.now() < until;) machine.advance(until, [] {});
}

/// Offers a chain and lets the machine carry it out.
inline void sim_store(SimMachine& machine, const Chain& keys, Seconds time = Seconds(1)) {
  StoreRequest request{.chain = keys};
  auto rows = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (const BlockKey& key : keys) rows->push_back(test_row(key, SimMachine::kRow));
  for (const auto& row : *rows) request.rows.push_back(row.data());
  request.on_done = [rows](const StoreOutcome&) {};
  machine.core().store(std::move(request), machine.now());
  machine.settle();
  live(machine, time);
}

inline std::size_t held(SimMachine& machine, TierId tier, const Chain& keys) {
  return machine.core().decider().resident_blocks(keys, tier);
}

/// Puts chains where flash holds them whole and memory does not: what comes after them drives them out of
/// memory, then the process starts anew.
inline std::vector<Chain> chains_on_flash(SimMachine& machine, std::size_t blocks, std::size_t count) {
  constexpr std::size_t kFiller = 12;
  constexpr int kFillers = 4;
  std::vector<Chain> chains;
  std::int32_t others = 1000;
  for (std::size_t i = 0; i < count; ++i) {
    chains.push_back(sim_chain(static_cast<std::int32_t>(i + 1), blocks));
    for (int round = 0; round < 20 && held(machine, 1, chains.back()) < blocks; ++round) {
      sim_store(machine, chains.back());
      for (int k = 0; k < kFillers; ++k) sim_store(machine, sim_chain(others++, kFiller));
    }
  }
  EXPECT_TRUE(machine.restart());
  for (const Chain& keys : chains) EXPECT_EQ(held(machine, 1, keys), blocks);
  return chains;
}

/// Waits for a load, at most so long. How long it took, in seconds.
inline double wait_for(SimMachine& machine, const engine::LoadState& load, Seconds most) {
  const Seconds start = machine.now();
  while (load.progress().end == LoadEnd::running && machine.now() < start + most) {
    machine.advance(start + most, [] {});
  }
  return (machine.now() - start).value();
}

}  // namespace fulcrum::test
