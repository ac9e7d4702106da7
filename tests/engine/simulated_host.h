// SimulatedHost: sessions over a SimMachine, what they have under way, and the laws. Inside of simulation.h.
//
// simulation.cc holds the traffic, simulation_laws.cc what must be so.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/simulation.h"
#include "tests/engine/simulation_faults.h"

namespace fulcrum::test {

inline constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

/// The only bytes ever stored under this key.
inline void simulated_content(const BlockKey& key, std::span<std::byte> row) {
  Random(key.high ^ key.low).fill(row);
}

class SimulatedHost {
 public:
  explicit SimulatedHost(const SimulationOptions& options)
      : options_(options),
        random_(options.seed),
        machine_(options.machine),
        faults_(machine_, Random(options.seed * 31 + 7), options.fault_every, options.length),
        sessions_(options.sessions) {
    for (std::size_t i = 0; i < sessions_.size(); ++i) begin_session(i);
  }
  SimulationReport run();

 private:
  struct Session {
    std::vector<BlockKey> chain;
    std::uint64_t stored = 0;  ///< blocks that the host has computed
    Seconds due{};
  };

  /// What the callback of a load was told.
  struct Told {
    LoadProgress last;
    bool any = false;
    bool gone = false;  ///< the host has dropped the load
  };

  struct Pending {
    std::size_t session = 0;
    std::shared_ptr<engine::LoadState> load;
    std::vector<BlockKey> keys;
    std::vector<std::byte> into;
    std::shared_ptr<Told> told = std::make_shared<Told>();
    Seconds deadline{};
    Seconds gives_up = kNever;  ///< the host's own
  };

  struct Offer {
    std::size_t session = 0;
    Seconds due{};
  };

  void begin_session(std::size_t i);
  void grow(Session& session);
  void turn(std::size_t i);
  void store(std::size_t i);
  void look_at(Pending& pending);
  void hear(Told& told, const LoadProgress& now);
  void watch();
  void end_of(Pending& pending);
  void lose_everything();
  void let_go();
  void check_the_end();
  void check_capacity();
  [[nodiscard]] Seconds next_turn() const;
  void breaks(const std::string& what);
  void add(std::uint64_t value) { report_.hash = (report_.hash ^ value) * 0x100000001b3ULL + 1; }
  [[nodiscard]] Seconds exponential(Seconds mean) { return mean * -std::log(1 - random_.uniform()); }

  SimulationOptions options_;
  Random random_;
  SimMachine machine_;
  SimFaults faults_;
  std::vector<Session> sessions_;
  std::vector<Pending> pending_;
  std::vector<Offer> offers_;
  std::map<std::uint64_t, int> answers_;  ///< of stores of this life
  std::uint64_t life_ = 0;
  RequestId request_ = 0;
  std::uint32_t next_token_ = 1000;
  std::shared_ptr<engine::LoadState> kept_;
  Seconds check_at_{};
  bool over_ = false;
  SimulationReport report_;
};

}  // namespace fulcrum::test
