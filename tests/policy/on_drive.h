// OnDrive: a decider that has one chain on its drive only, whose gate lets one load through at a time.
#pragma once

#include <vector>

#include "decider_fixture.h"

namespace fulcrum::testing {

/// Memory was filled with other chains since: chain(1000), chain(1001), ... of 60 blocks each.
struct OnDrive {
  static constexpr std::int64_t kDram = 100;
  explicit OnDrive(std::size_t blocks = 90, const PolicyConfig& policy = config())
      : keys(chain(1, blocks)), own(decider(policy)), host(own) {
    own.on_computed(keys, 1_s);
    host.finish_all(1_s);
    for (int i = 0; i < 12; ++i) {
      own.on_computed(chain(1000 + static_cast<std::uint32_t>(i), 60), Seconds(1000.0 + 60.0 * i));
      host.finish_all(Seconds(1000.0 + 60.0 * i));
    }
    EXPECT_EQ(own.resident_blocks(keys, 0), 0U);
    EXPECT_EQ(own.resident_blocks(keys, 1), blocks);
    first = host.history().size();
  }
  static PolicyConfig config() {
    PolicyConfig made = policy(Strategy::break_even, {{"dram", kDram}, {"nvme", 100'000}});
    made.tiers[1].gate = 1;
    return made;
  }
  [[nodiscard]] std::vector<Order> since() const {
    return {host.history().begin() + static_cast<std::ptrdiff_t>(first), host.history().end()};
  }
  Chain keys;
  Decider own;
  Host host;
  std::size_t first = 0;
  Seconds now{50'000};
};

}  // namespace fulcrum::testing
