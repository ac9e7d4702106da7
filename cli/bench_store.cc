#include "cli/bench_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <utility>

#include "base/errors.h"
#include "engine/tier_setup.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_layout.h"

namespace fulcrum::cli {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kHeadsChecked = 64;                     // sectors of a row
constexpr std::int64_t kStoreBytes = std::int64_t{32} << 20;  // rows of one store()
constexpr std::size_t kStoreRows = 4;                         // at least, so that all copy threads have some
constexpr Seconds kNever{1e6};
constexpr Seconds kLook{2e-4};
// An offer that is not taken now is made again, for so long.
constexpr Seconds kPatience{30};

Namespace bench_namespace() {
  return {.model = "fulcrum bench", .layout = "rows", .dtype = "bytes"};
}

Error broken(const std::string& what) {
  return make_error(ErrorKind::internal, "bench", "engine", what, "report it with the command line");
}

Bytes capacity_for(Bytes row, std::size_t blocks) {
  const Bytes wanted = row * static_cast<std::int64_t>(blocks);
  Bytes capacity = wanted + wanted / 8 + row * 64;
  // What no layout takes is told where room is looked for, or where it is opened.
  const Bytes most = capacity * 2 + Bytes(std::int64_t{1} << 30);
  for (; capacity < most; capacity += capacity / 16) {
    const auto layout = FileLayout::for_capacity(capacity, row, Medium::flash);
    if (layout && layout->capacity() >= wanted) break;
  }
  return capacity;
}

EngineOptions engine_options(const BenchStoreOptions& options) {
  EngineOptions engine;
  engine.name = bench_namespace();
  engine.profile = options.profile;
  for (TierProfile& tier : engine.profile.tiers) {
    if (tier.name != options.tier) continue;
    tier.io_size = options.io.io_size;
    tier.depth = options.io.depth;
  }
  engine.profile.prefill->kv_bytes_per_token =
      BytesPerToken(static_cast<double>(options.row.value()) / BenchBlocks::kTokens);
  engine.profile.prefill->kv_bytes_fixed = Bytes(0);
  engine.other_machine = true;
  PolicyConfig& policy = engine.policy;
  policy.strategy = Strategy::load_always;
  policy.block_tokens = Tokens(BenchBlocks::kTokens);
  policy.engine.staging = options.staging;
  policy.engine.deadline = kNever;
  TierPolicy tier;
  tier.name = tier.profile = options.tier;
  tier.capacity = capacity_for(options.row, options.blocks);
  tier.gate = options.gate;
  tier.write_limit = BytesPerSecond(1e15);
  tier.paths = {options.directory};
  policy.tiers.push_back(std::move(tier));
  return engine;
}

}  // namespace

Error bench_stopped() {
  return make_error(ErrorKind::interrupted, "bench", "", "stopped; what it had written is removed");
}

Result<std::unique_ptr<BenchScratch>> BenchScratch::make(const std::string& parent) {
  std::string path = parent + "/fulcrum-bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return os_error(errno, "make a directory in", parent);
  return std::unique_ptr<BenchScratch>(new BenchScratch(std::move(path)));
}

BenchScratch::~BenchScratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

BenchBlocks::BenchBlocks(Bytes row, std::size_t count, std::int32_t seed) : row_(row), payload_(kSeed) {
  BlockKey parent = BlockKey::root(bench_namespace());
  for (std::size_t i = 0; i < count; ++i) {
    const std::array<std::int32_t, 2> tokens = {seed, static_cast<std::int32_t>(i)};
    keys_.push_back(parent = BlockKey::next(parent, tokens));
  }
}

std::int64_t BenchBlocks::place(std::size_t block) const {
  return static_cast<std::int64_t>(keys_[block].low >> 4) & ~std::int64_t{calibrate::Payload::kSector - 1};
}

bool BenchBlocks::some_right(std::span<const std::byte> row, std::size_t block) const {
  const std::size_t sectors = row.size() / calibrate::Payload::kSector;
  const std::size_t step = std::max<std::size_t>(1, sectors / kHeadsChecked) * calibrate::Payload::kSector;
  calibrate::Payload own = payload_;
  for (std::size_t at = 0; at < row.size(); at += step) {
    const auto sector = row.subspan(at, calibrate::Payload::kSector);
    if (own.wrong_heads(sector, place(block) + static_cast<std::int64_t>(at), 1) != 0) return false;
  }
  return true;
}

Bytes bench_store_space(Bytes row, std::size_t blocks) {
  return capacity_for(row, blocks);
}

Result<std::unique_ptr<BenchStore>> BenchStore::open(const BenchStoreOptions& options,
                                                     const std::atomic<bool>& stop, const Wrap& wrap) {
  auto engine = engine::open_engine(engine_options(options), wrap);
  if (engine.has_error()) return engine.error();
  return std::unique_ptr<BenchStore>(new BenchStore(std::move(*engine), options.staging / 2, stop));
}

/// Offers blocks [next, end) until they are kept; `next` moves on with them.
Result<void> BenchStore::offer(BenchBlocks& blocks, std::size_t& next, std::size_t end,
                               std::span<std::byte> rows) {
  const auto row = static_cast<std::size_t>(blocks.row().value());
  for (std::size_t i = next; i < end; ++i) blocks.stamp(rows.subspan((i - next) * row, row), i);
  const Seconds limit = clock_.now() + kPatience;
  const std::size_t begin = next;
  while (next < end) {
    StoreRequest request;
    request.chain.assign(blocks.keys().begin(), blocks.keys().begin() + static_cast<std::ptrdiff_t>(end));
    request.first = static_cast<std::uint32_t>(next);
    for (std::size_t i = next; i < end; ++i) request.rows.push_back(rows.data() + (i - begin) * row);
    std::promise<StoreOutcome> done;
    request.on_done = [&](const StoreOutcome& outcome) { done.set_value(outcome); };
    const Result<void> taken = engine_->store(std::move(request));
    if (taken.has_error() && taken.error().kind != ErrorKind::busy) return taken.error();
    if (taken) next += done.get_future().get().kept;
    if (next == end) return {};
    if (stop_) return bench_stopped();
    if (clock_.now() > limit) return broken("blocks were offered for 30 s and not kept");
    clock_.sleep(kLook);
  }
  return {};
}

Result<Seconds> BenchStore::store(BenchBlocks& blocks, std::size_t count) {
  const auto row = static_cast<std::size_t>(blocks.row().value());
  const std::size_t step = std::max(kStoreRows, static_cast<std::size_t>(kStoreBytes) / row);
  auto rows = AlignedBuffer::allocate(step * row);
  if (rows.has_error()) return rows.error();
  blocks.fill(rows->span());
  const auto window = std::max(static_cast<std::size_t>(window_.value()) / row, step);
  const Seconds start = clock_.now();
  Seconds moved = start;
  std::uint64_t before = 0;
  for (std::size_t next = 0;;) {
    const EngineTier tier = engine_->status().tiers.front();
    if (tier.blocks >= count) return clock_.now() - start;
    if (stop_) return bench_stopped();
    if (tier.blocks != std::exchange(before, tier.blocks)) moved = clock_.now();
    if (clock_.now() - moved > kPatience) {
      return broken("nothing was written for 30 s; the tier is " + tier.health + ". " + tier.reason);
    }
    const std::size_t end = std::min(next + step, count);
    if (next < count && end <= tier.blocks + window) {
      if (auto offered = offer(blocks, next, end, rows->span()); offered.has_error()) return offered.error();
    } else {
      clock_.sleep(kLook);
    }
  }
}

Result<BenchStore::Loaded> BenchStore::load(const BenchBlocks& blocks, std::size_t first, std::size_t count,
                                            bool every_byte) {
  Request request;
  request.id = request_++;
  request.blocks = blocks.keys().first(first + count);
  request.resident = Tokens(static_cast<std::int64_t>(first) * BenchBlocks::kTokens);
  request.prompt = Tokens(static_cast<std::int64_t>(first + count) * BenchBlocks::kTokens + 1);
  Loaded loaded;
  const Seconds start = clock_.now();
  const auto load = engine_->load(request);
  if (load->first() != first || load->count() != count) {
    return broken("a load of " + std::to_string(count) + " blocks would bring " +
                  std::to_string(load->count()));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (load->wait(i + 1).ready <= i) {
      return broken("a load " + std::string(to_string(load->progress().end)) + " at block " +
                    std::to_string(i) + " of " + std::to_string(count));
    }
    if (i == 0) loaded.first = clock_.now() - start;
    const auto row = load->row(i);
    const bool right = every_byte ? blocks.all_right(row, first + i) : blocks.some_right(row, first + i);
    if (!right) return broken("WRONG BYTES in block " + std::to_string(first + i));
    load->release(i + 1);
    if (stop_) return bench_stopped();
  }
  loaded.last = clock_.now() - start;
  return loaded;
}

}  // namespace fulcrum::cli
