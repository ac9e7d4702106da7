#include "tiers/striped_tier.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/scratch.h"
#include "tests/support/tiers.h"
#include "tests/tiers/tier_contract.h"
#include "tests/tiers/tier_contract_host.h"
#include "tiers/dram_tier.h"
#include "tiers/file_device.h"
#include "tiers/file_tier.h"
#include "tiers/sim_device.h"
#include "tiers/store_files.h"

namespace fulcrum::test {
namespace {

constexpr Bytes kRowBytes{5000};
constexpr std::size_t kStripe = 4;  // blocks
const StripedOptions kOptions{kRowBytes * static_cast<std::int64_t>(kStripe)};

/// A tier with the health that it is told, and as many jobs.
class AilingTier final : public PassThroughTier {
 public:
  using PassThroughTier::PassThroughTier;
  Health health = Health::healthy;
  std::size_t most = 1024;

  [[nodiscard]] TierStatus status() const override {
    TierStatus status = PassThroughTier::status();
    status.health = health;
    if (health != Health::healthy) status.reason = "it was told so";
    return status;
  }
  [[nodiscard]] std::size_t jobs_max() const override { return most; }
};

/// A tier that somebody else owns.
class BorrowedTier final : public Tier {
 public:
  explicit BorrowedTier(Tier& owned) : Tier(owned.row_bytes()), owned_(owned) {}
  [[nodiscard]] bool contains(const BlockKey& key) const override { return owned_.contains(key); }
  [[nodiscard]] TierStatus status() const override { return owned_.status(); }
  [[nodiscard]] std::vector<BlockKey> take_lost() override { return owned_.take_lost(); }
  void each_run(const std::function<void(const StoredRun&)>& visit) const override { owned_.each_run(visit); }
  Result<void> close(Seconds /*limit*/) override { return {}; }

 private:
  Result<void> do_read(TierRead job) override { return owned_.read(std::move(job)); }
  Result<void> do_write(TierWrite job) override { return owned_.write(std::move(job)); }
  void do_erase(std::span<const BlockKey> keys) override { owned_.erase(keys); }
  void do_touch(std::span<const BlockKey> keys, float worth) override { owned_.touch(keys, worth); }
  void do_cancel(JobId id) override { owned_.cancel(id); }
  std::size_t do_poll(std::span<TierEvent> out, Seconds wait) override { return owned_.poll(out, wait); }
  Tier& owned_;
};

std::unique_ptr<Tier> memory(std::size_t rows, const Clock& clock) {
  auto pool = RowPool::create({.row_bytes = kRowBytes, .rows = rows});
  EXPECT_TRUE(pool.has_value());
  return std::make_unique<DramTier>(*pool, kRowBytes * static_cast<std::int64_t>(rows), clock);
}

FileTierOptions file_options(Bytes capacity) {
  FileTierOptions options;
  options.name = {"contract", "rows", "bytes", 1, ""};
  options.layout = *FileLayout::for_capacity(capacity, kRowBytes, Medium::flash);
  options.linger = Seconds(0.001);
  options.owner = 1;
  return options;
}

std::unique_ptr<Tier> simulated(ManualClock& clock, Bytes capacity, std::uint64_t seed) {
  const FileTierOptions options = file_options(capacity);
  SimTruth truth;
  truth.capacity = options.layout.total();
  truth.head = options.layout.meta_bytes;
  truth.piece = options.layout.segment_bytes;
  truth.seed = seed;
  auto tier = FileTier::open(std::make_unique<SimDevice>(truth, clock), options, clock);
  EXPECT_TRUE(tier.has_value());
  return std::move(*tier);
}

Result<TierUnderTest> over_memory() {
  auto clock = std::make_shared<ManualClock>();
  std::vector<StripedMember> members;
  for (int i = 0; i < 3; ++i) members.push_back({"m" + std::to_string(i), memory(32, *clock), 1.0 + i});
  return TierUnderTest{clock, std::make_unique<StripedTier>(std::move(members), kOptions, *clock)};
}

Result<TierUnderTest> over_simulated_files() {
  auto clock = std::make_shared<ManualClock>();
  std::vector<StripedMember> members;
  for (std::uint64_t i = 0; i < 3; ++i)
    members.push_back({"f" + std::to_string(i), simulated(*clock, 1_MiB, i + 1)});
  return TierUnderTest{clock, std::make_unique<StripedTier>(std::move(members), kOptions, *clock)};
}

/// One member is slow, so that stripes arrive in the wrong order.
Result<TierUnderTest> over_uneven_members() {
  auto clock = std::make_shared<ManualClock>();
  std::vector<StripedMember> members;
  members.push_back({"fast", simulated(*clock, 1_MiB, 1)});
  members.push_back({"slow", std::make_unique<SlowTier>(memory(64, *clock), *clock, Seconds(0.01))});
  return TierUnderTest{clock, std::make_unique<StripedTier>(std::move(members), kOptions, *clock)};
}

struct RealGround {
  ScratchDirectory directories[2];
  SteadyClock clock;
};

Result<TierUnderTest> over_real_files() {
  auto ground = std::make_shared<RealGround>();
  std::vector<StripedMember> members;
  for (const ScratchDirectory& directory : ground->directories) {
    const FileTierOptions options = file_options(1_MiB);
    StoreFilesOptions files;
    files.head = options.layout.meta_bytes;
    files.piece = options.layout.segment_bytes;
    files.pieces = options.layout.segments;
    auto device = FileDevice::open_store(directory.path(), files, {.depth_max = 32});
    if (device.has_error()) return device.error();
    auto tier = FileTier::open(std::move(*device), options, ground->clock);
    if (tier.has_error()) return tier.error();
    members.push_back({directory.path(), std::move(*tier)});
  }
  auto& clock = ground->clock;
  return TierUnderTest{ground, std::make_unique<StripedTier>(std::move(members), kOptions, clock)};
}

INSTANTIATE_TEST_SUITE_P(StripedMemory, TierContract, on_all_laws({"memory", over_memory}), law_name);
INSTANTIATE_TEST_SUITE_P(StripedSimulation, TierContract, on_all_laws({"simulation", over_simulated_files}),
                         law_name);
INSTANTIATE_TEST_SUITE_P(StripedUneven, TierContract, on_all_laws({"uneven", over_uneven_members}), law_name);
INSTANTIATE_TEST_SUITE_P(StripedFiles, TierContract, on_all_laws({"files", over_real_files}), law_name);

/// A striped tier over members whose insides are at hand.
template <class Member>
struct Striped {
  ManualClock clock;
  std::vector<Member*> members;
  std::unique_ptr<StripedTier> tier;

  template <class Make>
  Striped(std::size_t count, Make make) {
    std::vector<StripedMember> parts;
    for (std::size_t i = 0; i < count; ++i) {
      std::unique_ptr<Member> member = make(memory(256, clock), clock, i);
      members.push_back(member.get());
      parts.push_back({"m" + std::to_string(i), std::move(member)});
    }
    tier = std::make_unique<StripedTier>(std::move(parts), kOptions, clock);
  }
  [[nodiscard]] std::size_t member_of(const BlockKey& key) const {
    std::size_t found = members.size();
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!members[i]->inner().contains(key)) continue;
      EXPECT_EQ(found, members.size()) << "a block lies on two members";
      found = i;
    }
    return found;
  }
};

Striped<AilingTier> ailing(std::size_t count) {
  return {count, [](std::unique_ptr<Tier> inner, Clock& /*clock*/, std::size_t /*i*/) {
            return std::make_unique<AilingTier>(std::move(inner));
          }};
}

TEST(StripedTier, SpreadsALongChainInWholeStripes) {
  auto striped = ailing(3);
  TierHost host(*striped.tier);
  const Chain chain = make_chain(120, 1);
  host.store(chain);
  std::vector<int> stripes(3);
  for (std::size_t i = 0; i < 120; ++i) {
    EXPECT_EQ(striped.member_of(chain.keys[i]), striped.member_of(chain.keys[i / kStripe * kStripe]));
    if (i % kStripe == 0) ++stripes[striped.member_of(chain.keys[i])];
  }
  for (const int count : stripes) EXPECT_GE(count, 3) << "of 30";
  host.expect_readable(chain);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, KeepsStripesWholeWhereAChainGrowsBlockByBlock) {
  auto striped = ailing(4);
  TierHost host(*striped.tier);
  const Chain chain = make_chain(16, 2);
  for (std::size_t i = 0; i < 16; ++i) host.store(chain.part(i, 1));
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(striped.member_of(chain.keys[i]), striped.member_of(chain.keys[i / kStripe * kStripe]));
  }
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, GoesOnWithoutAMemberThatIsDisabledAndWithItWhenItAnswersAgain) {
  auto striped = ailing(3);
  TierHost host(*striped.tier);
  const Chain chain = make_chain(60, 3);
  host.store(chain);
  const std::size_t sick = striped.member_of(chain.keys[5 * kStripe]);
  striped.members[sick]->health = Health::disabled;
  EXPECT_EQ(striped.tier->status().health, Health::healthy);
  EXPECT_NE(striped.tier->status().reason.find("m" + std::to_string(sick) + " is disabled: it was told so"),
            std::string::npos);
  std::size_t first_gone = 0;
  while (striped.member_of(chain.keys[first_gone]) != sick) ++first_gone;
  host.expect_missing_at(chain, first_gone);
  for (std::size_t i = 0; i < 60; i += kStripe) {
    if (striped.member_of(chain.keys[i]) != sick) host.expect_readable(chain.part(i, kStripe));
  }
  const Chain other = make_chain(60, 4);
  host.store(other);
  for (const BlockKey& key : other.keys) EXPECT_NE(striped.member_of(key), sick);
  host.expect_readable(other);
  striped.members[sick]->health = Health::healthy;
  host.expect_readable(chain);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, WritesNothingToAMemberThatOnlyReads) {
  auto striped = ailing(2);
  TierHost host(*striped.tier);
  const Chain chain = make_chain(40, 5);
  host.store(chain.part(0, 22));  // the last stripe has begun
  const std::size_t worn = striped.member_of(chain.keys[21]);
  striped.members[worn]->health = Health::degraded;
  host.store(chain.part(22, 18));
  for (std::size_t i = 22; i < 40; ++i) EXPECT_NE(striped.member_of(chain.keys[i]), worn);
  host.store(chain);  // what it holds is held: nothing is refused and nothing lies twice
  for (std::size_t i = 0; i < 40; ++i) EXPECT_LT(striped.member_of(chain.keys[i]), 2U);
  host.expect_readable(chain);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, RefusesWhatNoMemberCanDoAndSaysWhy) {
  auto striped = ailing(2);
  TierHost host(*striped.tier);
  const Chain chain = make_chain(8, 6);
  host.store(chain);
  JobId id = 0;
  for (AilingTier* member : striped.members) member->health = Health::degraded;
  EXPECT_EQ(host.try_write(make_chain(2, 7), 1, id).error().kind, ErrorKind::read_only);
  host.expect_readable(chain);
  striped.members[0]->health = Health::dead;
  striped.members[1]->health = Health::disabled;
  const Result<void> refused = host.try_read(chain, Urgency::load, id);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().kind, ErrorKind::device);
  EXPECT_NE(refused.error().message().find("m0 is dead"), std::string::npos) << refused.error().message();
  EXPECT_EQ(striped.tier->status().health, Health::disabled);
}

TEST(StripedTier, CountsFrontToBackWhateverArrivesFirst) {
  Striped<StallingTier> striped(2, [](std::unique_ptr<Tier> inner, Clock& clock, std::size_t /*i*/) {
    return std::make_unique<StallingTier>(std::move(inner), clock);
  });
  TierHost host(*striped.tier);
  const Chain chain = make_chain(80, 8);
  const std::size_t front = [&] {
    host.store(chain);
    return striped.member_of(chain.keys[0]);
  }();
  std::size_t own = 0;
  while (striped.member_of(chain.keys[own]) == front) ++own;
  striped.members[front]->stall();
  const JobId blocked = host.read(chain);
  for (int i = 0; i < 5; ++i) host.poll(Seconds(0.01));
  EXPECT_EQ(host.job(blocked).blocks, 0U);
  striped.members[front]->release();
  striped.members[1 - front]->stall();
  for (int i = 0; i < 5; ++i) host.poll(Seconds(0.01));
  EXPECT_EQ(host.job(blocked).blocks, 80U) << "the other member had answered before it stalled";
  const JobId again = host.read(chain);
  for (int i = 0; i < 5; ++i) host.poll(Seconds(0.01));
  EXPECT_EQ(host.job(again).blocks, own);
  striped.members[1 - front]->release();
  host.drain();
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, ErasesWhatWasWrittenBehindAFailure) {
  Striped<FaultyTier> striped(2, [](std::unique_ptr<Tier> inner, Clock& /*clock*/, std::size_t i) {
    return std::make_unique<FaultyTier>(std::move(inner),
                                        TierFault{.probability = i == 0 ? 1.0 : 0.0, .only_reads = false});
  });
  TierHost host(*striped.tier);
  const Chain chain = make_chain(80, 9);
  const JobId write = host.write(chain);
  host.drain();
  const HostJob& job = host.job(write);
  ASSERT_TRUE(job.result.has_error());
  EXPECT_EQ(job.result.error().kind, ErrorKind::device);
  for (std::size_t i = 0; i < 80; ++i) EXPECT_EQ(striped.tier->contains(chain.keys[i]), i < job.blocks) << i;
  EXPECT_EQ(striped.tier->status().blocks, job.blocks);
  std::size_t listed = 0;
  striped.tier->each_run([&](const StoredRun& run) { listed += run.keys.size(); });
  EXPECT_EQ(listed, job.blocks);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, KeepsForAnotherWriterWhatACancelledOneHadBegun) {
  Striped<StallingTier> striped(2, [](std::unique_ptr<Tier> inner, Clock& clock, std::size_t /*i*/) {
    return std::make_unique<StallingTier>(std::move(inner), clock);
  });
  TierHost host(*striped.tier);
  const Chain chain = make_chain(24, 10);
  for (StallingTier* member : striped.members) member->stall();
  const JobId first = host.write(chain);
  const JobId second = host.write(chain.part(6, 18));
  striped.tier->cancel(first);
  for (StallingTier* member : striped.members) member->release();
  host.drain();
  EXPECT_FALSE(host.job(second).result.has_error());
  host.expect_readable(chain.part(6, 18));
  for (std::size_t i = host.job(first).blocks; i < 6; ++i)
    EXPECT_FALSE(striped.tier->contains(chain.keys[i]));
  for (std::size_t i = 6; i < 24; ++i) EXPECT_LT(striped.member_of(chain.keys[i]), 2U);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, HidesWhatIsWrittenUntilItIsReported) {
  Striped<StallingTier> striped(2, [](std::unique_ptr<Tier> inner, Clock& clock, std::size_t /*i*/) {
    return std::make_unique<StallingTier>(std::move(inner), clock);
  });
  TierHost host(*striped.tier);
  const Chain chain = make_chain(40, 11);
  striped.members[0]->stall();
  const JobId write = host.write(chain);
  for (int i = 0; i < 5; ++i) host.poll(Seconds(0.01));
  std::size_t behind = 0;
  for (std::size_t i = host.job(write).blocks; i < 40; ++i) {
    behind += striped.members[1]->inner().contains(chain.keys[i]) ? 1U : 0U;
    EXPECT_FALSE(striped.tier->contains(chain.keys[i]));
  }
  EXPECT_GT(behind, 0U) << "this chain shows nothing";
  std::size_t listed = 0;
  striped.tier->each_run([&](const StoredRun& run) { listed += run.keys.size(); });
  EXPECT_EQ(listed, host.job(write).blocks);
  striped.members[0]->release();
  host.drain();
  host.expect_readable(chain);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, GivesABusyMemberItsPartsOneAfterTheOther) {
  auto striped = ailing(2);
  for (AilingTier* member : striped.members) member->most = 2;
  TierHost host(*striped.tier);
  const Chain chain = make_chain(160, 12);
  host.store(chain);
  host.expect_readable(chain);
  const JobId cancelled = host.read(chain);
  striped.tier->cancel(cancelled);
  const JobId closed = host.read(chain);
  EXPECT_FALSE(striped.tier->close(Seconds(1)).has_error());
  host.drain();
  EXPECT_EQ(host.job(cancelled).result.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(host.job(closed).result.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(host.violations(), Violations{});
}

TEST(StripedTier, FindsEverythingAfterMembersHaveComeAndChangedPlaces) {
  ManualClock clock;
  const Chain chain = make_chain(80, 13);
  std::vector<std::unique_ptr<Tier>> held;
  for (int i = 0; i < 2; ++i) held.push_back(memory(256, clock));
  const std::vector<Tier*> old{held[0].get(), held[1].get()};
  {
    std::vector<StripedMember> members;
    for (int i = 0; i < 2; ++i)
      members.push_back(
          {"d" + std::to_string(i), std::make_unique<BorrowedTier>(*old[static_cast<std::size_t>(i)])});
    StripedTier tier(std::move(members), kOptions, clock);
    TierHost host(tier);
    host.store(chain);
    EXPECT_EQ(host.violations(), Violations{});
  }
  const std::array before{old[0]->status().blocks, old[1]->status().blocks};
  std::vector<StripedMember> members;
  members.push_back({"d2", memory(256, clock)});
  members.push_back({"d1", std::make_unique<BorrowedTier>(*old[1])});
  members.push_back({"d0", std::make_unique<BorrowedTier>(*old[0])});
  StripedTier tier(std::move(members), kOptions, clock);
  TierHost host(tier);
  host.expect_readable(chain);
  host.store(chain);
  host.store(make_chain(80, 14));
  EXPECT_GE(old[0]->status().blocks, before[0]) << "nothing has moved away";
  EXPECT_GE(old[1]->status().blocks, before[1]);
  EXPECT_EQ(tier.status().blocks, 160U) << "and nothing lies twice";
  EXPECT_EQ(host.violations(), Violations{});
}

// Two drives are done when the one with more of the blocks is.
TEST(StripedTier, ReadsAsFastAsItsFullestDriveAllows) {
  struct Run {
    Seconds time;
    std::uint64_t fullest = 0;
  };
  const auto read_over = [](std::size_t count) {
    ManualClock clock;
    std::vector<StripedMember> members;
    std::vector<const Tier*> inside;
    for (std::size_t i = 0; i < count; ++i) {
      members.push_back({"f" + std::to_string(i), simulated(clock, 32_MiB, i + 1)});
      inside.push_back(members.back().tier.get());
    }
    StripedTier tier(std::move(members), {64_KiB}, clock);
    TierHost host(tier);
    const Chain chain = make_chain(600, 15);
    host.store(chain);
    Run run;
    for (const Tier* member : inside) run.fullest = std::max(run.fullest, member->status().blocks);
    const Seconds begin = clock.now();
    host.expect_readable(chain);
    run.time = clock.now() - begin;
    EXPECT_EQ(host.violations(), Violations{});
    return run;
  };
  const Run one = read_over(1);
  const Run two = read_over(2);
  const double possible = static_cast<double>(one.fullest) / static_cast<double>(two.fullest);
  RecordProperty("speedup", std::to_string(one.time / two.time));
  EXPECT_GT(one.time / two.time, 0.9 * possible) << "possible: " << possible;
  EXPECT_GT(possible, 1.3);
}

using StripedTierDeathTest = testing::Test;

TEST(StripedTierDeathTest, TakesNoMembersThatCannotWorkTogether) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ManualClock clock;
  const auto build = [&clock](std::vector<std::string> names) {
    std::vector<StripedMember> members;
    for (const std::string& name : names) members.push_back({name, memory(4, clock)});
    StripedTier tier(std::move(members), kOptions, clock);
  };
  EXPECT_DEATH(build({"a", "a"}), "names of their own");
  EXPECT_DEATH(build({}), "has members");
}

}  // namespace
}  // namespace fulcrum::test
