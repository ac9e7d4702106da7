// How much of a load a tier is asked for at a time: enough to keep its devices busy, no more, and shared by
// all loads; rows that a device does not give back must not count for ever.
#include <deque>

#include "base/errors.h"
#include "engine/core.h"
#include "tests/engine/engine_fixture.h"

namespace fulcrum::test {
namespace {

constexpr std::int64_t kAtOnce = 8;                 // rows that keep the device busy
constexpr std::size_t kMost = 2 * kAtOnce;          // what the core asks for beyond them
constexpr Bytes kDeviceBytes{kAtOnce * (2 << 20)};  // of rows of 2 MiB
constexpr Bytes kRow{2 << 20};
constexpr std::size_t kBlocks = 100;

/// Takes reads and answers when it is told to.
class ScriptedPort final : public engine::TierPort {
 public:
  void read(TierRead job) override { jobs.push_back(std::move(job)); }
  void write(TierWrite /*job*/) override {}
  void erase(std::vector<BlockKey> /*keys*/) override {}
  void touch(std::vector<BlockKey> /*keys*/, float /*worth*/) override {}
  void cancel(JobId job) override { cancelled.push_back(job); }
  bool close(Seconds /*limit*/) override { return true; }

  [[nodiscard]] std::size_t rows() const {
    std::size_t count = 0;
    for (const TierRead& job : jobs) count += job.keys.size();
    return count;
  }
  std::deque<TierRead> jobs;  ///< not answered
  std::vector<JobId> cancelled;
};

class RowsAsked : public testing::Test {
 protected:
  RowsAsked() {
    PolicyConfig policy;
    policy.strategy = Strategy::load_always;
    policy.block_tokens = Tokens(kBlockTokens);
    policy.tiers.push_back(test_tier("nvme", kRow * 1000));
    policy.tiers.back().gate = 8;
    MachineProfile profile = test_profile();
    profile.prefill->kv_bytes_per_token = BytesPerToken(static_cast<double>(kRow.value()) / kBlockTokens);
    auto decider = Decider::create(policy, profile);
    EXPECT_TRUE(decider) << decider.error().message();
    engine::CoreParts parts;
    parts.pool = std::move(*RowPool::create({.row_bytes = kRow, .rows = 64, .touch = false}));
    parts.staging_rows = 64;
    parts.row_bytes = kRow;
    parts.root = BlockKey::root(test_namespace());
    parts.copier = &copier_;
    parts.on_engine = [](const std::function<void()>&) {};
    parts.on_released = parts.on_dropped = [](engine::LoadId) {};
    core_ = std::make_unique<engine::EngineCore>(std::move(*decider), std::move(parts));
    auto port = std::make_unique<ScriptedPort>();
    port_ = port.get();
    core_->attach(0, std::move(port), "scripted", status());
    for (int chain = 0; chain < 4; ++chain) {
      chains_.push_back(test_chain(chain, kBlocks));
      const StoredRun run{BlockKey::root(test_namespace()), 0, chains_.back(), 0, Seconds(0)};
      core_->restore(0, {&run, 1}, Seconds(0));
    }
  }
  static TierStatus status() {
    TierStatus status;
    status.capacity = kRow * 1000;
    status.at_once = kDeviceBytes;
    return status;
  }
  std::shared_ptr<engine::LoadState> load(std::size_t chain) {
    auto load = core_->load(test_request(chain + 1, chains_[chain]), {}, now_);
    EXPECT_EQ(load->count(), kBlocks);
    return load;
  }
  /// The oldest job is done, or has failed.
  void answer(const Result<void>& result = {}) {
    const TierRead job = std::move(port_->jobs.front());
    port_->jobs.pop_front();
    TierEvent event;
    event.id = job.id;
    event.ended = true;
    event.result = result;
    event.blocks = result.has_error() ? 0 : static_cast<std::uint32_t>(job.keys.size());
    core_->news(0, {{event}, {}, status(), {}}, now_);
  }

  engine::InlineCopier copier_;
  std::unique_ptr<engine::EngineCore> core_;
  ScriptedPort* port_ = nullptr;
  std::vector<Chain> chains_;
  Seconds now_{1};
};

TEST_F(RowsAsked, AreTwiceWhatKeepsTheDeviceBusyAndStaySoUntilTheEnd) {
  const auto one = load(0);
  std::size_t answered = 0;
  while (one->progress().end == LoadEnd::running) {
    const std::size_t left = kBlocks - answered;
    ASSERT_LE(port_->rows(), kMost);
    ASSERT_GE(port_->rows(), std::min<std::size_t>(left, kAtOnce))
        << "the device has less than it could move";
    answered += port_->jobs.front().keys.size();
    answer();
    one->release(one->progress().ready);
    core_->released(now_);
  }
  EXPECT_EQ(one->progress().end, LoadEnd::complete);
}

TEST_F(RowsAsked, AreSharedByAllLoads) {
  std::vector<std::shared_ptr<engine::LoadState>> loads;
  for (std::size_t i = 0; i < chains_.size(); ++i) loads.push_back(load(i));
  for (int step = 0; step < 40; ++step) {
    ASSERT_LE(port_->rows(), kMost);
    answer();
    for (const auto& each : loads) each->release(each->progress().ready);
    core_->released(now_);
  }
  for (const auto& each : loads) EXPECT_GT(each->progress().ready, 4U) << "one load waits for the others";
}

// A device that never answers keeps rows; what others ask for must not wait for them.
TEST_F(RowsAsked, DoNotCountWhatIsInLimbo) {
  const auto stuck = load(0);
  ASSERT_GE(port_->rows(), static_cast<std::size_t>(kAtOnce));
  const std::size_t before = port_->jobs.size();
  stuck->give_up();
  core_->dropped(stuck->id(), now_);
  ASSERT_GE(port_->cancelled.size(), before) << "the tier is told";
  const auto next = load(1);
  EXPECT_GT(port_->jobs.size(), before) << "the next load is asked for";
  std::size_t fresh = 0;
  for (std::size_t i = before; i < port_->jobs.size(); ++i) fresh += port_->jobs[i].keys.size();
  EXPECT_GE(fresh, static_cast<std::size_t>(kAtOnce));
  // The answers that come after all are counted once: the window is what it was.
  for (std::size_t i = 0; i < before; ++i) {
    answer(make_error(ErrorKind::interrupted, "read", "job", "it was cancelled"));
  }
  EXPECT_LE(port_->rows(), kMost);
  EXPECT_EQ(next->progress().end, LoadEnd::running);
}

}  // namespace
}  // namespace fulcrum::test
