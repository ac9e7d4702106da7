#include "tests/engine/write_back.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "engine/core.h"
#include "engine/port.h"
#include "engine/tier_setup.h"
#include "tests/engine/write_back_parts.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum::test {
namespace {

using namespace write_back_parts;

constexpr Bytes kBuffer{(std::int64_t{30} << 30) / kScale};
constexpr std::array<std::size_t, 4> kLengths = {20, 80, 320, 640};  // of chains, in blocks
// A conversation may go on after half an hour; residence in the buffer says little about it.
constexpr Seconds kHalfLife{1800};

class Machine {
 public:
  explicit Machine(const WriteBackOptions& options) : options_(options), random_(options.seed) {
    const FileTierOptions files = array_options(options);
    const FileLayout& layout = files.layout;
    const Geometry geometry{layout.total(), layout.meta_bytes, layout.segment_bytes, 4096, 256};
    const ArrayTruth truth{kWrite, kRead, array_move()};
    auto device = std::make_unique<ArrayDevice>(geometry, truth, clock_);
    device_ = device.get();
    auto tier = FileTier::open(std::move(device), files, clock_);
    FULCRUM_CHECK(tier.has_value(), "an empty array can be used");
    PolicyConfig policy;
    policy.block_tokens = Tokens(kBlockTokens);
    policy.reuse_half_life = kHalfLife;
    for (const char* name : {"dram", "hdd"}) {
      TierPolicy own;
      own.name = own.profile = name;
      own.capacity = policy.tiers.empty() ? kBuffer : (*tier)->status().capacity;
      policy.tiers.push_back(own);
    }
    auto decider = Decider::create(policy, profile_);
    FULCRUM_CHECK(decider.has_value(), "the policy is sound");
    core_ = std::make_unique<engine::EngineCore>(std::move(*decider), parts());
    TierStatus status = (*tier)->status();
    auto port = std::make_unique<engine::InlinePort>(
        std::move(*tier), [this](engine::PortNews news) { core_->news(1, std::move(news), clock_.now()); });
    port_ = port.get();
    core_->attach(1, std::move(port), "simulated", std::move(status));
  }

  WriteBackFigures run() {
    const Seconds begin = clock_.now() + options_.warm_up;
    const Seconds end = begin + options_.length;
    run_until(begin);
    const std::uint64_t blocks_then = port_->tier().tally().blocks_written;
    const ArrayLedger ledger_then = device_->ledger();
    const std::size_t chains_then = chains_.size();
    run_until(end);
    const auto blocks = static_cast<double>(port_->tier().tally().blocks_written - blocks_then);
    WriteBackFigures figures;
    figures.rate = blocks * static_cast<double>(WriteBackOptions::kBlock.value()) / options_.length.value();
    figures.ledger = device_->ledger().since(ledger_then);
    count(chains_then, figures);
    return figures;
  }

 private:
  struct Chain {
    std::vector<BlockKey> keys;
    bool offered = false;
  };

  engine::CoreParts parts() {
    engine::CoreParts parts;
    constexpr std::size_t kStaging = 64;
    auto pool = RowPool::create({.row_bytes = kRow,
                                 .rows = static_cast<std::size_t>(kBuffer / kRow) + kStaging,
                                 .huge_pages = HugePages::never,
                                 .touch = false});
    FULCRUM_CHECK(pool.has_value(), "address space for the rows");
    parts.pool = *pool;
    parts.dram = std::make_unique<DramTier>(parts.pool, kBuffer, clock_);
    parts.staging_rows = kStaging;
    parts.row_bytes = kRow;
    parts.root = BlockKey::root(kName);
    parts.copier = &copier_;
    parts.on_engine = [this](std::function<void()> call) { queue_.push_back(std::move(call)); };
    parts.on_released = parts.on_dropped = [](engine::LoadId) {};
    parts.on_copied = [this](std::uint64_t copy) { core_->copied(copy, clock_.now()); };
    return parts;
  }

  /// Offers the next chain. Returns the time until the one after it.
  Seconds offer() {
    const auto number = static_cast<std::int32_t>(chains_.size());
    Chain& chain = chains_.emplace_back();
    const std::size_t blocks = kLengths[random_.below(kLengths.size())];
    BlockKey key = BlockKey::root(kName);
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::array<std::int32_t, 2> tokens = {number, static_cast<std::int32_t>(i)};
      chain.keys.push_back(key = BlockKey::next(key, tokens));
    }
    chain.offered = random_.uniform() >= options_.shed_by_lot;
    if (chain.offered) {
      StoreRequest request;
      request.chain = chain.keys;
      request.rows.assign(blocks, row_.data());
      core_->store(std::move(request), clock_.now());
    }
    return Seconds(static_cast<double>(blocks) * static_cast<double>(WriteBackOptions::kBlock.value()) /
                   options_.offered);
  }

  void run_until(Seconds end) {
    while (clock_.now() < end) {
      if (clock_.now() >= due_) due_ += offer();
      const Seconds step = port_->tier().in_flight() > 0 ? Seconds(0.002) : Seconds(0.02);
      const Seconds core = std::max(core_->next_step(), clock_.now());
      clock_.advance_to(std::min({due_, end, clock_.now() + step, core}));
      if (core_->next_step() <= clock_.now()) core_->step(clock_.now());
      for (bool more = true; more;) {
        more = copier_.pump();
        for (; !queue_.empty(); queue_.pop_front()) queue_.front()();
        more = port_->pump() || more;
      }
    }
  }

  /// Leading blocks of a chain that are somewhere: those behind a gap are of no use.
  [[nodiscard]] std::size_t held(const Chain& chain) const {
    if (!chain.offered) return 0;
    std::size_t blocks = core_->decider().resident_blocks(chain.keys, 0);
    while (blocks < chain.keys.size() && port_->tier().contains(chain.keys[blocks])) ++blocks;
    return blocks;
  }

  void count(std::size_t from, WriteBackFigures& figures) const {
    double kept = 0;
    double shed = 0;
    for (std::size_t i = from; i < chains_.size(); ++i) {
      const std::size_t all = chains_[i].keys.size();
      const std::size_t here = held(chains_[i]);
      const double value = value_of(profile_, all);
      figures.offered_blocks += static_cast<double>(all);
      figures.shed_blocks += static_cast<double>(all - here);
      kept += value * static_cast<double>(here);
      shed += value * static_cast<double>(all - here);
    }
    figures.value_kept = kept / std::max(1.0, figures.offered_blocks - figures.shed_blocks);
    figures.value_shed = shed / std::max(1.0, figures.shed_blocks);
    figures.value_offered = (kept + shed) / std::max(1.0, figures.offered_blocks);
  }

  WriteBackOptions options_;
  Random random_;
  ManualClock clock_;
  MachineProfile profile_ = host_profile();
  std::vector<std::byte> row_{static_cast<std::size_t>(kRow.value())};
  NoCopier copier_;
  std::deque<std::function<void()>> queue_;
  std::vector<Chain> chains_;
  Seconds due_{};
  std::unique_ptr<engine::EngineCore> core_;
  ArrayDevice* device_ = nullptr;
  engine::InlinePort* port_ = nullptr;
};

}  // namespace

double WriteBackFigures::between_visits() const {
  const double bytes = ledger.seconds[ArrayLedger::rows] * WriteBackOptions::kIdeal;
  return bytes / static_cast<double>(std::max<std::uint64_t>(1, ledger.visits));
}

Seconds array_move() {
  const auto block = static_cast<double>(WriteBackOptions::kBlock.value());
  const double commit = block / (WriteBackOptions::kStream / WriteBackOptions::kLoss);
  return Seconds((commit - block / WriteBackOptions::kIdeal) / 2);
}

Bytes chosen_commit() {
  const MachineProfile known = host_profile();
  return *engine::commit_size(*known.tier("hdd")) * kScale;
}

double bare_commits(Bytes commit) {
  ManualClock clock;
  const Bytes page(4096);
  const Geometry geometry{Bytes(std::int64_t{1} << 40), page, Bytes(0), 4096, 4};
  ArrayDevice device(geometry, {BytesPerSecond(WriteBackOptions::kIdeal), {}, array_move()}, clock);
  const auto row = AlignedBuffer::allocate(static_cast<std::size_t>(WriteBackOptions::kBlock.value()));
  FULCRUM_CHECK(row.has_value(), "memory for a row");
  std::int64_t at = page.value();
  std::int64_t written = 0;
  IoCompletion done;
  const auto write = [&](std::int64_t offset, std::size_t size) {
    IoRequest request;
    request.kind = IoKind::write;
    request.offset = offset;
    request.buffer = row->span().first(size);
    FULCRUM_CHECK(device.submit(request).has_value(), "the array takes one request");
    while (*device.poll({&done, 1}, Seconds(1)) == 0) {
    }
  };
  for (int commits = 0; commits < 16; ++commits) {
    for (std::int64_t left = commit.value(); left > 0; left -= WriteBackOptions::kBlock.value()) {
      write(at, row->size());
      at += WriteBackOptions::kBlock.value();
      written += WriteBackOptions::kBlock.value();
    }
    write(0, static_cast<std::size_t>(page.value()));
  }
  return static_cast<double>(written) / clock.now().value();
}

WriteBackFigures write_back(const WriteBackOptions& options) {
  return Machine(options).run();
}

}  // namespace fulcrum::test
