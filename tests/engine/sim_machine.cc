#include "tests/engine/sim_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tiers/row_pool.h"

namespace fulcrum::test {
namespace {

// While jobs are under way the clock moves in steps of this, growing where nothing happens.
constexpr Seconds kStepLeast{0.0005};
constexpr Seconds kStepMost{0.02};
constexpr Seconds kCloseLimit{2};

MachineProfile profile() {
  auto profile = MachineProfile::load(std::string(FULCRUM_SOURCE_DIR) + "/configs/profiles/example.yaml");
  FULCRUM_CHECK(profile.has_value(), "the example profile can be read");
  profile->prefill->kv_bytes_per_token = BytesPerToken(SimMachine::kRow / SimMachine::kBlockTokens);
  profile->prefill->kv_bytes_fixed = Bytes(0);
  return std::move(*profile);
}

FileTierOptions file_options(std::int64_t rows, bool turning) {
  FileTierOptions options;
  const Bytes row(static_cast<std::int64_t>(SimMachine::kRow));
  const auto layout =
      FileLayout::for_capacity(row * rows + Bytes(1 << 20), row, turning ? Medium::hdd : Medium::flash);
  FULCRUM_CHECK(layout.has_value(), "a layout for so many rows");
  options.name = SimMachine::name();
  options.layout = *layout;
  options.turning = turning;
  options.io_size = Bytes(128 << 10);
  options.budget = Bytes(1 << 20);
  options.commit = Bytes(turning ? 256 << 10 : 64 << 10);
  options.owner = 7;
  options.writer = "the simulation";
  options.wall = Seconds(86400.0 * 20000);
  return options;
}

}  // namespace

const Namespace& SimMachine::name() {
  static const Namespace name{.model = "simulated@1", .layout = "paged16", .dtype = "bf16"};
  return name;
}

SimMachine::SimMachine(SimMachineOptions options)
    : options_(std::move(options)),
      files_{file_options(options_.flash_rows, false), file_options(options_.disk_rows, true)} {
  start({});
}

SimMachine::~SimMachine() {
  stop();
}

std::unique_ptr<Tier> SimMachine::open(std::size_t i, Image image) {
  const FileLayout& layout = files_[i].layout;
  const Geometry geometry{layout.total(), layout.meta_bytes, layout.segment_bytes, 4096, 64};
  for (int attempt = 0;; ++attempt) {
    auto device = std::make_unique<TestDevice>(geometry, clock_, std::move(image));
    i == kFlash ? device->take_time(Seconds(1e-4), BytesPerSecond(2.5e9))
                : device->take_time(Seconds(8e-3), BytesPerSecond(2e8));
    devices_[i] = device.get();
    auto opened = FileTier::open(std::move(device), files_[i], clock_);
    if (opened) return std::move(*opened);
    FULCRUM_CHECK(attempt == 0, "an empty device can be used");
    ++replaced_;
    image = {};
  }
}

engine::CoreParts SimMachine::parts() {
  engine::CoreParts parts;
  parts.pool = pool_;
  parts.dram =
      std::make_unique<DramTier>(pool_, Bytes(static_cast<std::int64_t>(options_.dram_rows * kRow)), clock_);
  parts.staging_rows = options_.staging_rows;
  parts.row_bytes = Bytes(static_cast<std::int64_t>(kRow));
  parts.root = BlockKey::root(name());
  parts.copier = &copier_;
  parts.on_engine = [this](std::function<void()> call) {
    const bool lost = options_.loses_callback > 0 && ++callbacks_ % options_.loses_callback == 0;
    if (!lost) queue_.push_back(std::move(call));
  };
  parts.on_released = [this](engine::LoadId) { queue_.push_back([this] { core_->released(now()); }); };
  parts.on_dropped = [this](engine::LoadId id) {
    queue_.push_back([this, id] { core_->dropped(id, now()); });
  };
  parts.on_copied = [this](std::uint64_t copy) { core_->copied(copy, now()); };
  return parts;
}

void SimMachine::start(std::array<Image, 2> images) {
  const Seconds began = now();
  ++starts_;
  pool_ = std::move(*RowPool::create({.row_bytes = Bytes(static_cast<std::int64_t>(kRow)),
                                      .rows = options_.dram_rows + options_.staging_rows,
                                      .huge_pages = HugePages::never}));
  PolicyConfig policy;
  policy.block_tokens = Tokens(kBlockTokens);
  policy.engine.limbo = options_.limbo;
  policy.engine.deadline = Seconds(5);
  const std::array<std::string, 3> names = {"dram", "nvme", "hdd"};
  std::array<std::unique_ptr<Tier>, 2> tiers;
  std::array<Bytes, 3> room{Bytes(static_cast<std::int64_t>(options_.dram_rows * kRow))};
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    tiers[i] = open(i, std::move(images[i]));
    room[i + 1] = tiers[i]->status().capacity;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    TierPolicy tier;
    tier.name = tier.profile = names[i];
    tier.capacity = room[i];
    if (i == kFlash + 1) {
      tier.gate = options_.flash_gate;
      tier.write_limit = options_.flash_write_limit;
    }
    policy.tiers.push_back(tier);
  }
  auto decider = Decider::create(policy, profile());
  FULCRUM_CHECK(decider.has_value(), "the simulated policy is sound");
  core_ = std::make_unique<engine::EngineCore>(std::move(*decider), parts());
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const auto tier = static_cast<TierId>(i + 1);
    std::vector<StoredRun> found;
    tiers[i]->each_run([&](const StoredRun& run) { found.push_back(run); });
    // In an order of its own: where tables of addresses decide, no run is like another.
    std::ranges::sort(found, {}, [](const StoredRun& run) {
      return std::tuple(run.first, run.keys.front().high, run.keys.front().low);
    });
    TierStatus status = tiers[i]->status();
    if (options_.wrap) tiers[i] = options_.wrap(std::move(tiers[i]));
    auto port = std::make_unique<engine::InlinePort>(
        std::move(tiers[i]),
        [this, tier](engine::PortNews news) { core_->news(tier, std::move(news), now()); });
    ports_[i] = port.get();
    core_->attach(tier, std::move(port), "simulated", std::move(status));
    core_->restore(tier, found, now());
  }
  core_->step(now());
  next_told_ = now();
  longest_start_ = std::max(longest_start_, now() - began);
}

// As a process that ends: nothing that was queued happens any more.
void SimMachine::stop() {
  core_.reset();
  queue_.clear();
  static_cast<void>(copier_.pump());
  queue_.clear();
}

void SimMachine::crash(Random& random) {
  std::array<Image, 2> images;
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = devices_[i]->crash(random);
  stop();
  start(std::move(images));
}

void SimMachine::kill() {
  std::array<Image, 2> images;
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = devices_[i]->image();
  stop();
  start(std::move(images));
}

bool SimMachine::restart() {
  core_->begin_close(now(), kCloseLimit);
  const Seconds deadline = now() + kCloseLimit;
  while (!core_->quiet() && now() < deadline) advance(deadline, [] {});
  settle();
  const bool clean = core_->close_ports(kCloseLimit);
  settle();
  kill();
  return clean;
}

bool SimMachine::settle() {
  bool any = false;
  for (bool more = true; more;) {
    more = copier_.pump();
    for (; !queue_.empty(); more = true) {
      const std::function<void()> call = std::move(queue_.front());
      queue_.pop_front();
      call();
    }
    for (engine::InlinePort* port : ports_) more = port->pump() || more;
    any = any || more;
  }
  return any;
}

void SimMachine::advance(Seconds until, const std::function<void()>& each) {
  const bool busy = ports_[kFlash]->tier().in_flight() + ports_[kDisk]->tier().in_flight() > 0;
  Seconds next = std::min(until, std::max(core_->next_step(), now()));
  if (busy) next = std::min(next, now() + step_);
  clock_.advance_to(next);
  if (options_.oversleep == Seconds(0) || now() >= next_told_) {
    next_told_ = now() + options_.oversleep;
    if (core_->next_step() <= now()) core_->step(now());
  } else if (core_->next_step() <= now()) {
    clock_.advance_to(std::min(until, now() + kStepMost));
  }
  // What begins after a quiet time is looked at closely from the start: its time is measured.
  step_ = settle() || !busy ? kStepLeast : std::clamp(step_ * 1.5, kStepLeast, kStepMost);
  each();
}

}  // namespace fulcrum::test
