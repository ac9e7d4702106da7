// Write-back to an array of turning disks that is nearly too slow for its stream, in simulated time.
//
//   write_back_bench [SECONDS]
//
// EngineCore, the DRAM tier and a FileTier run on a clock that is moved by hand, in one thread. The array
// writes at 692 MB/s in order and loses 12.1 ms whenever its head moves, so that a commit of 2 MiB, with its
// record in the journal, runs at a ninth. A host offers 0.7 GB/s through a buffer of 30 GiB. All sizes and
// rates stand for four times as much. Bytes of rows are neither copied nor kept; everything else is the
// engine's own code.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "engine/core.h"
#include "engine/port.h"
#include "tiers/file_tier.h"

namespace {

using namespace fulcrum;

constexpr std::int64_t kScale = 4;
constexpr Bytes kRow{(std::int64_t{2} << 20) / kScale};
constexpr std::int64_t kBlockTokens = 16;
constexpr double kIdeal = 692e6 / kScale;
constexpr double kOffered = 700e6 / kScale;
constexpr Bytes kBuffer{(std::int64_t{30} << 30) / kScale};
constexpr Bytes kDisk{(std::int64_t{2} << 40) / kScale};
constexpr Seconds kMove{0.0121};
constexpr std::size_t kShort = 768;  // blocks of a chain: some 12,000 tokens
constexpr std::size_t kLong = 2048;
const Namespace kName{.model = "write-back@1", .layout = "paged16", .dtype = "bf16"};

/// One head: requests one after the other, in order of submission.
class ArrayDevice final : public Device {
 public:
  ArrayDevice(const Geometry& geometry, ManualClock& clock) : geometry_(geometry), clock_(clock) {}
  [[nodiscard]] Geometry geometry() const override { return geometry_; }
  [[nodiscard]] IoMode mode() const override { return {.uring = true, .direct = true}; }
  [[nodiscard]] DeviceIdentity identity() const override {
    return {"(array)", "simfs", "sim0", "simulated array", "", "none"};
  }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }

 private:
  Result<void> do_submit(const IoRequest& request) override {
    Seconds work{};
    if (request.kind == IoKind::read) std::memset(request.buffer.data(), 0, request.buffer.size());
    if (request.kind == IoKind::read || request.kind == IoKind::write) {
      if (request.offset != head_) {
        work = kMove;
        ++moves_;
      }
      head_ = request.offset + size_of(request);
      work += Seconds(static_cast<double>(size_of(request)) / kIdeal);
    } else if (request.kind == IoKind::sync) {
      work = kMove;
    }
    free_ = std::max(free_, clock_.now()) + work;
    flights_.push_back({request.tag, request.kind, static_cast<std::size_t>(size_of(request)), work, {}});
    ready_.push_back(free_);
    return {};
  }
  Result<std::size_t> do_poll(std::span<IoCompletion> out, Seconds wait) override {
    if (!ready_.empty() && ready_.front() > clock_.now())
      clock_.advance_to(std::min(ready_.front(), clock_.now() + wait));
    std::size_t count = 0;
    for (; count < out.size() && !ready_.empty() && ready_.front() <= clock_.now(); ready_.pop_front()) {
      out[count++] = flights_.front();
      flights_.pop_front();
    }
    return count;
  }

  Geometry geometry_;
  ManualClock& clock_;
  std::deque<IoCompletion> flights_;
  std::deque<Seconds> ready_;
  Seconds free_{};
  std::int64_t head_ = -1;
  std::uint64_t moves_ = 0;
};

/// Says that rows were copied: what is in them plays no part here.
class NoCopier final : public engine::Copier {
 public:
  void copy(std::vector<engine::RowCopy> /*rows*/, std::size_t /*bytes*/,
            std::function<void()> done) override {
    done_.push_back(std::move(done));
  }
  bool pump() {
    const auto done = std::exchange(done_, {});
    for (const auto& each : done) each();
    return !done.empty();
  }

 private:
  std::vector<std::function<void()>> done_;
};

template <class T>
T must(Result<T> result) {
  if (result.has_error()) {
    std::fprintf(stderr, "write_back_bench: %s\n", result.error().message().c_str());
    std::exit(2);
  }
  return std::move(*result);
}

MachineProfile profile() {
  auto profile =
      must(MachineProfile::load(std::string(FULCRUM_SOURCE_DIR) + "/configs/profiles/example.yaml"));
  profile.prefill->kv_bytes_per_token = BytesPerToken(static_cast<double>(kRow.value()) / kBlockTokens);
  for (TierProfile& tier : profile.tiers) {
    if (tier.medium != Medium::hdd) continue;
    tier.verdict = Verdict::good;
    const BytesPerSecond read(6.34e9 / kScale);
    tier.read.value = tier.read.low = tier.read.high = read;
    const BytesPerSecond write(kIdeal);
    tier.write.value = tier.write.low = tier.write.high = write;
  }
  return profile;
}

struct Figures {
  double rate = 0;               // bytes/s of blocks that became readable
  double commit = 0;             // bytes written between two movements of the head
  std::array<double, 2> lost{};  // share of the blocks that are nowhere: short chains, long ones
};

class Machine {
 public:
  explicit Machine(Bytes commit) {
    FileTierOptions options;
    options.name = kName;
    options.layout = must(FileLayout::for_capacity(kDisk, kRow, Medium::hdd));
    options.turning = true;
    options.io_size = Bytes((std::int64_t{16} << 20) / kScale);
    options.budget = Bytes((std::int64_t{64} << 20) / kScale);
    options.commit = commit;
    options.owner = 7;
    options.wall = Seconds(1);
    const FileLayout& layout = options.layout;
    auto device = std::make_unique<ArrayDevice>(
        Geometry{layout.total(), layout.meta_bytes, layout.segment_bytes, 4096, 256}, clock_);
    device_ = device.get();
    auto tier = must(FileTier::open(std::move(device), options, clock_));
    PolicyConfig policy;
    policy.block_tokens = Tokens(kBlockTokens);
    for (const char* name : {"dram", "hdd"}) {
      TierPolicy own;
      own.name = own.profile = name;
      own.capacity = policy.tiers.empty() ? kBuffer : tier->status().capacity;
      policy.tiers.push_back(own);
    }
    const auto rows = static_cast<std::size_t>(kBuffer / kRow);
    engine::CoreParts parts;
    parts.pool = must(RowPool::create(
        {.row_bytes = kRow, .rows = rows + 64, .huge_pages = HugePages::never, .touch = false}));
    parts.dram = std::make_unique<DramTier>(parts.pool, kBuffer, clock_);
    parts.staging_rows = 64;
    parts.row_bytes = kRow;
    parts.root = BlockKey::root(kName);
    parts.copier = &copier_;
    parts.on_engine = [this](std::function<void()> call) { queue_.push_back(std::move(call)); };
    parts.on_released = parts.on_dropped = [](engine::LoadId) {};
    parts.on_copied = [this](std::uint64_t copy) { core_->copied(copy, clock_.now()); };
    core_ = std::make_unique<engine::EngineCore>(must(Decider::create(policy, profile())), std::move(parts));
    TierStatus status = tier->status();
    auto port = std::make_unique<engine::InlinePort>(
        std::move(tier), [this](engine::PortNews news) { core_->news(1, std::move(news), clock_.now()); });
    port_ = port.get();
    core_->attach(1, std::move(port), "simulated", std::move(status));
  }

  Figures run(Seconds warm_up, Seconds length) {
    const Seconds begin = clock_.now();
    Seconds due = begin;
    std::uint64_t blocks_then = 0;
    std::uint64_t moves_then = 0;
    bool warm = false;
    while (clock_.now() < begin + warm_up + length) {
      if (!warm && clock_.now() >= begin + warm_up) {
        warm = true;
        blocks_then = port_->tier().tally().blocks_written;
        moves_then = device_->moves();
      }
      if (clock_.now() >= due) due += offer();
      advance(due);
    }
    const double bytes = static_cast<double>(port_->tier().tally().blocks_written - blocks_then) *
                         static_cast<double>(kRow.value());
    Figures figures;
    figures.rate = bytes / length.value();
    figures.commit = bytes / static_cast<double>(std::max<std::uint64_t>(1, device_->moves() - moves_then));
    count_lost(figures);
    return figures;
  }

 private:
  /// Every fourth chain is a short one, worth less; all are offered once. Returns the time until the next.
  Seconds offer() {
    const auto number = static_cast<std::int32_t>(chains_.size());
    const std::size_t blocks = number % 4 == 0 ? kShort : kLong;
    StoreRequest request;
    BlockKey key = BlockKey::root(kName);
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::array<std::int32_t, 2> tokens = {number, static_cast<std::int32_t>(i)};
      request.chain.push_back(key = BlockKey::next(key, tokens));
      request.rows.push_back(row_.data());
    }
    chains_.push_back(request.chain);
    core_->store(std::move(request), clock_.now());
    return Seconds(static_cast<double>(blocks) * static_cast<double>(kRow.value()) / kOffered);
  }

  void advance(Seconds until) {
    const Seconds step = port_->tier().in_flight() > 0 ? Seconds(0.002) : Seconds(0.02);
    clock_.advance_to(std::min({until, clock_.now() + step, std::max(core_->next_step(), clock_.now())}));
    if (core_->next_step() <= clock_.now()) core_->step(clock_.now());
    for (bool more = true; more;) {
      more = copier_.pump();
      for (; !queue_.empty(); queue_.pop_front()) queue_.front()();
      more = port_->pump() || more;
    }
  }

  void count_lost(Figures& figures) const {
    std::array<double, 2> all{};
    std::array<double, 2> kept{};
    for (const auto& chain : chains_) {
      const std::size_t length = chain.size() == kShort ? 0 : 1;
      std::size_t held = core_->decider().resident_blocks(chain, 1);
      held = std::max(held, core_->decider().resident_blocks(chain, 0));
      all[length] += static_cast<double>(chain.size());
      kept[length] += static_cast<double>(held);
    }
    for (std::size_t i = 0; i < all.size(); ++i) figures.lost[i] = 1 - kept[i] / std::max(1.0, all[i]);
  }

  ManualClock clock_;
  std::vector<std::byte> row_{static_cast<std::size_t>(kRow.value())};
  NoCopier copier_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::vector<BlockKey>> chains_;
  std::unique_ptr<engine::EngineCore> core_;
  ArrayDevice* device_ = nullptr;
  engine::InlinePort* port_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const Seconds length(argc > 1 ? std::atof(argv[1]) : 600);
  if (!(length > Seconds(0))) {
    std::fprintf(stderr, "usage: write_back_bench [SECONDS]\n");
    return 2;
  }
  std::printf("%10s %14s %10s %16s %12s %12s\n", "commit", "MB/s of 692", "ratio", "MB a head move",
              "short lost", "long lost");
  for (const std::int64_t commit : {2, 16, 64, 256, 1024}) {
    Machine machine(Bytes((commit << 20) / kScale));
    const Figures figures = machine.run(Seconds(120), length);
    std::printf("%6lld MiB %14.1f %10.3f %16.1f %12.3f %12.3f\n", static_cast<long long>(commit),
                figures.rate * 1e-6 * kScale, figures.rate / kIdeal, figures.commit * 1e-6 * kScale,
                figures.lost[0], figures.lost[1]);
    std::fflush(stdout);
  }
  return 0;
}
