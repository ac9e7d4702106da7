// SimFaults: what goes wrong on a simulated machine, when, and for how long; all of it from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "tests/engine/sim_machine.h"

namespace fulcrum::test {

class SimFaults {
 public:
  /// No fault comes after `until`; those that last are over by then.
  SimFaults(SimMachine& machine, Random random, Seconds every, Seconds until);

  /// Time of the next change.
  [[nodiscard]] Seconds next() const;
  /// Does what is due. Tells whether the machine started anew: the host's loads and stores are gone.
  bool act();

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::set<std::string>& kinds() const { return kinds_; }

 private:
  struct Page {
    std::int64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  bool begin(std::size_t device);
  void begin_lasting(std::size_t device);
  void damage(std::size_t device);
  bool begin_anew();
  void end(std::size_t device);
  void note(const std::string& kind);
  [[nodiscard]] Seconds some_time(Seconds least, Seconds most);

  SimMachine& machine_;
  Random random_;
  Seconds every_;
  Seconds until_;
  Seconds next_{};
  std::array<std::optional<Seconds>, 2> sick_until_;
  std::optional<Page> old_page_;
  std::uint64_t count_ = 0;
  std::set<std::string> kinds_;
};

}  // namespace fulcrum::test
