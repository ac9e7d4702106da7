// Writing down to a tier that is slower than what is offered: who moves, who stays, and who is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

constexpr BytesPerSecond kWrite{1e9};  // some 15 blocks a second: 60 are on their way at most
constexpr std::size_t kTiny = 4;
constexpr std::size_t kShort = 12;
constexpr std::size_t kLong = 36;
constexpr Seconds kStep{0.05};

/// A host that offers chains of two lengths in turn, and a drive that writes them at its speed, in order.
class Stream {
 public:
  /// `offered` in drives: 1 is what it can write.
  explicit Stream(double offered, std::int64_t drive_blocks = 100'000)
      : offered_(offered), own_(decider(config(drive_blocks), slow_drive())), host_(own_) {}

  void run(int steps, std::size_t one = kShort, std::size_t other = kLong) {
    for (int i = 0; i < steps; ++i) {
      now_ += kStep;
      if (now_ >= due_) offer(chains_.size() % 2 == 0 ? one : other);
      write();
      own_.on_time(now_);
      host_.collect();
      look();
    }
  }

  /// Share of the blocks in chains of this length that are nowhere. The first chains find an empty tier, and
  /// nobody knows yet how long those are that follow.
  [[nodiscard]] double lost(std::size_t length) const {
    double all = 0;
    double lost = 0;
    for (const Chain& keys : std::span(chains_).subspan(20)) {
      if (keys.size() != length) continue;
      for (const BlockKey& key : keys) {
        all += 1;
        lost += host_.holds(0, key) || host_.holds(1, key) ? 0 : 1;
      }
    }
    return lost / all;
  }
  [[nodiscard]] Bytes most_on_its_way() const { return most_; }
  [[nodiscard]] int idle_steps() const { return idle_; }
  void forget_idle_steps() { idle_ = 0; }
  [[nodiscard]] const Host& host() const { return host_; }
  [[nodiscard]] const std::vector<Chain>& chains() const { return chains_; }

 private:
  static PolicyConfig config(std::int64_t drive_blocks) {
    PolicyConfig config = policy(Strategy::break_even, {{"dram", 300}, {"nvme", drive_blocks}});
    config.reuse_half_life = Seconds(1e5);  // age does not matter within the test
    return config;
  }
  static MachineProfile slow_drive() {
    MachineProfile profile = machine();
    profile.tiers[1].write = Measured<BytesPerSecond>::exact(kWrite, Verdict::good);
    return profile;
  }

  void offer(std::size_t length) {
    chains_.push_back(chain(static_cast<std::uint32_t>(chains_.size() + 1), length));
    own_.on_computed(chains_.back(), now_);
    host_.collect();
    std::vector<OrderId> writes;
    for (const auto& [id, order] : host_.open()) {
      if (order.kind == OrderKind::write) writes.push_back(id);
    }
    for (const OrderId id : writes) host_.finish(id, OutcomeKind::done, 0, now_);
    due_ += block_bytes() * static_cast<std::int64_t>(length) / (kWrite * offered_);
  }

  void write() {
    written_ += (kWrite * kStep.value()).value();
    for (;;) {
      const auto first = std::ranges::find_if(
          host_.open(), [](const auto& entry) { return entry.second.kind == OrderKind::demote; });
      if (first == host_.open().end()) {
        written_ = 0;
        ++idle_;
        return;
      }
      const auto bytes = static_cast<double>(first->second.bytes.value());
      if (written_ < bytes) return;
      written_ -= bytes;
      host_.finish(first->first, OutcomeKind::done, 0, now_);
    }
  }

  void look() {
    Bytes all{};
    for (const auto& [id, order] : host_.open()) {
      if (order.kind == OrderKind::demote) all += order.bytes;
    }
    most_ = std::max(most_, all);
  }

  double offered_;
  Decider own_;
  Host host_;
  std::vector<Chain> chains_;
  Seconds now_{1};
  Seconds due_{1};
  double written_ = 0;
  Bytes most_{};
  int idle_ = 0;
};

TEST(WriteDown, LosesWhatIsWorthLeastWhereNotAllCanBeWritten) {
  Stream stream(1.2);
  stream.run(6'000);
  EXPECT_GT(stream.lost(kShort), 0.4) << "a fifth of all is a good half of these";
  EXPECT_LT(stream.lost(kLong), 0.05);
}

TEST(WriteDown, LosesNothingWhereAllCanBeWritten) {
  Stream stream(0.8);
  stream.run(6'000);
  EXPECT_EQ(stream.lost(kShort), 0);
  EXPECT_EQ(stream.lost(kLong), 0);
  const auto first = std::ranges::find(stream.host().history(), OrderKind::demote, &Order::kind);
  ASSERT_NE(first, stream.host().history().end());
  EXPECT_EQ(first->keys.back(), stream.chains().front().back()) << "what is worth least goes first";
}

TEST(WriteDown, HasNoMoreOnItsWayThanKeepsTheDriveBusy) {
  Stream stream(3);
  stream.run(2'000);
  EXPECT_LE(stream.most_on_its_way(), kWrite * Seconds(4));
  EXPECT_GE(stream.most_on_its_way(), kWrite * Seconds(2));
}

TEST(WriteDown, KeepsTheDriveBusyWhileAnythingIsLost) {
  for (const double offered : {1.02, 1.5, 4.0}) {
    for (const std::size_t other : {kTiny, kShort, kLong}) {
      Stream stream(offered);
      stream.run(2'000, other, other);
      stream.forget_idle_steps();
      stream.run(4'000, other, other);
      EXPECT_LE(stream.idle_steps(), 40) << offered << " drives, chains of " << other;
    }
  }
}

TEST(WriteDown, HardlyLosesWhatWasWrittenForWantOfItsFront) {
  for (const double offered : {1.1, 1.5, 4.0}) {
    Stream stream(offered);
    stream.run(6'000, kLong, kLong);
    const auto erased = std::ranges::count_if(stream.host().history(), [](const Order& order) {
      return order.kind == OrderKind::erase && order.source == 1;
    });
    const auto written = static_cast<double>(stream.host().count(OrderKind::demote));
    EXPECT_LT(static_cast<double>(erased), written / 20)
        << "of a drive with room for all; " << offered << " drives";
  }
}

TEST(WriteDown, KeepsItsBooksWhereTheDriveIsFullAndGivesUpFronts) {
  // What is dropped below takes along what hangs on it above; the host's books notice orders for what is
  // gone.
  for (const double offered : {0.9, 1.5, 4.0}) {
    for (const std::size_t other : {kTiny, kLong}) {
      Stream stream(offered, 150);
      stream.run(4'000, kShort, other);
      EXPECT_LE(stream.host().blocks_in(1), 150U);
      EXPECT_GT(stream.host().count(OrderKind::demote), 50U);
    }
  }
}

TEST(WriteDown, MovesChainsInFewParts) {
  for (const double offered : {1.1, 4.0}) {
    Stream stream(offered);
    stream.run(6'000, kTiny, kLong);
    double blocks = 0;
    double orders = 0;
    for (const Order& order : stream.host().history()) {
      if (order.kind != OrderKind::demote || order.first + order.keys.size() <= kTiny) continue;
      blocks += static_cast<double>(order.keys.size());
      orders += 1;
    }
    EXPECT_GT(blocks / orders, 9) << "an eighth of 60 at least, what is left of a chain aside; " << offered
                                  << " drives";
  }
}

}  // namespace
}  // namespace fulcrum::testing
