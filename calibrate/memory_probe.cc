#include "calibrate/memory_probe.h"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"
#include "calibrate/far_node.h"
#include "calibrate/memory_copy.h"
#include "calibrate/storage_fit.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum::calibrate {
namespace {

constexpr std::size_t kFirstBytes = 4096;
constexpr int kSetupsPerRound = 20;

class MemoryProbe {
 public:
  MemoryProbe(Clock& clock, const MemoryPlan& plan, AlignedBuffer source, AlignedBuffer target)
      : clock_(clock),
        plan_(plan),
        source_(std::move(source)),
        target_(std::move(target)),
        random_(Random(plan.seed).split("memory")),
        start_(clock.now()) {
    random_.fill(source_.span());
    std::memcpy(target_.data(), source_.data(), std::min(source_.size(), target_.size()));
  }

  Result<Samples> run(const ProgressHook& progress, const std::atomic<bool>& stop);

 private:
  [[nodiscard]] Cell cell(int threads) const { return {CellKind::load, plan_.block, 1, threads}; }
  [[nodiscard]] bool settled() const;
  void take(int threads);
  void take_setup();

  Clock& clock_;
  const MemoryPlan& plan_;
  AlignedBuffer source_;
  AlignedBuffer target_;
  Random random_;
  Seconds start_;
  Samples samples_;
};

void MemoryProbe::take(int threads) {
  FULCRUM_CHECK(plan_.block * threads <= plan_.region, "every thread has a block of its own to write");
  const auto parts = static_cast<std::size_t>(threads);
  // Each thread writes a part of its own.
  const auto block = static_cast<std::size_t>(plan_.block.value());
  const std::size_t own_bytes = target_.size() / block / parts * block;
  std::vector<BytesPerSecond> rates(parts);
  std::barrier together(threads);
  {
    std::vector<std::jthread> workers;
    for (std::size_t part = 0; part < parts; ++part) {
      const Random own(random_.next());
      workers.emplace_back([&, part, own] {
        together.arrive_and_wait();
        rates[part] = copy_blocks(clock_, source_.span(), target_.span().subspan(part * own_bytes, own_bytes),
                                  plan_.block, plan_.window, own);
      });
    }
  }
  BytesPerSecond all{};
  for (const BytesPerSecond rate : rates) all += rate;
  samples_.add({cell(threads), clock_.now() - start_, all.value(), {}});
}

void MemoryProbe::take_setup() {
  const std::size_t places = source_.size() / kFirstBytes;
  const auto from = random_.below(places) * kFirstBytes;
  const auto to = random_.below(places) * kFirstBytes;
  const Seconds before = clock_.now();
  std::memcpy(target_.data() + to, source_.data() + from, kFirstBytes);
  const Seconds took = clock_.now() - before;
  samples_.add({{CellKind::setup, Bytes(kFirstBytes), 1, 1}, clock_.now() - start_, took.value(), {}});
}

bool MemoryProbe::settled() const {
  return std::all_of(plan_.threads.begin(), plan_.threads.end(), [&](int threads) {
    return samples_.settled(cell(threads), plan_.settle_least, plan_.target);
  });
}

Result<Samples> MemoryProbe::run(const ProgressHook& progress, const std::atomic<bool>& stop) {
  std::vector<int> order = plan_.threads;
  for (int round = 0; round < plan_.settle_most && !settled(); ++round) {
    if (round >= plan_.settle_least && clock_.now() - start_ > plan_.time_limit) break;
    progress(static_cast<double>(round) / plan_.settle_most, "copying memory");
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (const int threads : order) {
      if (stop.load(std::memory_order_relaxed))
        return make_error(ErrorKind::interrupted, "calibrate", "", "stopped on request");
      take(threads);
    }
    for (int i = 0; i < kSetupsPerRound; ++i) take_setup();
  }
  return std::move(samples_);
}

}  // namespace

MemoryPlan memory_plan(const MachineFacts& facts, bool full, std::uint64_t seed) {
  MemoryPlan plan;
  plan.region = std::clamp(facts.memory_available / 16, 16_MiB, full ? 1_GiB : 256_MiB);
  plan.block = 2_MiB;
  plan.threads = {1, 2, 4};  // more than there are cores still says how loads share them
  for (int n = 8; n <= std::min(facts.cores, 32) && plan.block * n <= plan.region; n *= 2)
    plan.threads.push_back(n);
  plan.settle_most = full ? 60 : 30;
  plan.time_limit = full ? 20_s : 4_s;
  plan.nodes = facts.nodes;
  plan.seed = seed;
  return plan;
}

Result<StorageReport> probe_memory(Clock& clock, const MemoryPlan& plan, const ProgressHook& progress,
                                   const std::atomic<bool>& stop) {
  auto source = AlignedBuffer::allocate(static_cast<std::size_t>(plan.region.value()));
  if (source.has_error()) return source.error();
  auto target = AlignedBuffer::allocate(static_cast<std::size_t>(plan.region.value()));
  if (target.has_error()) return target.error();
  auto samples = MemoryProbe(clock, plan, std::move(*source), std::move(*target)).run(progress, stop);
  if (samples.has_error()) return samples.error();
  StorageReport report;
  report.samples = std::move(*samples);
  const auto nodes = farthest_nodes(plan.nodes);
  const auto far = nodes ? take_far_node(clock, plan, *nodes, stop, report.samples) : Result<void>();
  if (far.has_error() && far.error().kind == ErrorKind::interrupted) return far.error();
  report.tier = fit_memory(report.samples, plan.block, plan.target, plan.seed);
  fit_far_node(report.samples, plan.seed, report.tier);
  if (!nodes) {
    report.tier.findings.emplace_back(
        plan.nodes.size() > 1 ? "this process may use one NUMA node only: far memory was not measured"
                              : "one NUMA node: no memory is far");
  } else if (far.has_error()) {
    report.tier.findings.push_back("memory of a far NUMA node was not measured: " + far.error().message());
  }
  return report;
}

}  // namespace fulcrum::calibrate
