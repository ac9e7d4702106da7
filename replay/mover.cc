#include "replay/mover.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace fulcrum::replay {
namespace {

bool is_load(const Order& order) {
  return order.kind == OrderKind::load || order.kind == OrderKind::preload;
}

}  // namespace

Mover::Mover(std::span<const TierProfile* const> profiles, std::span<const DeviceTruth> truth,
             std::uint64_t seed) {
  const Random random(seed);
  for (std::size_t tier = 0; tier < profiles.size(); ++tier) {
    const DeviceTruth own = tier < truth.size() ? truth[tier] : DeviceTruth{};
    media_.push_back(profiles[tier]->medium);
    devices_.emplace_back(*profiles[tier], own, random.split("device " + std::to_string(tier)));
  }
  loaded_.resize(devices_.size());
}

void Mover::begin(std::uint32_t decider, Order order, Seconds now) {
  FULCRUM_CHECK(order.source >= 0 || order.target >= 0, "an order names a tier");
  const std::uint64_t transfer = ++next_transfer_;
  transfers_.emplace(name(decider, order.id), transfer);
  Job& job = jobs_.emplace(transfer, Job{decider, std::move(order), now, false}).first->second;
  const TierId source = job.order.source;
  if (source < 0) {
    start_write(transfer, job, now);
  } else if (memory(source) && job.order.target >= 0) {
    device_of(source).count(job.order.bytes, Bytes(0));
    start_write(transfer, job, now);
  } else {
    device_of(source).start_read(transfer, job.order.bytes, now);
  }
}

void Mover::start_write(std::uint64_t transfer, Job& job, Seconds now) {
  job.writing = true;
  device_of(job.order.target).start_write(transfer, job.order.bytes, now);
}

std::uint32_t Mover::blocks_at(const Job& job, double share) const {
  return static_cast<std::uint32_t>(share * static_cast<double>(job.order.keys.size()));
}

Completion Mover::complete(Job job, OutcomeKind kind, std::uint32_t blocks, Seconds now) {
  const Outcome outcome{job.order.id, kind, blocks, now - job.start};
  return Completion{job.decider, std::move(job.order), outcome};
}

std::optional<Completion> Mover::cancel(std::uint32_t decider, OrderId order, Seconds now) {
  const auto found = transfers_.find(name(decider, order));
  if (found == transfers_.end()) return std::nullopt;
  Job job = std::move(jobs_.extract(found->second).mapped());
  const TierId tier = job.writing ? job.order.target : job.order.source;
  const double share = devices_[static_cast<std::size_t>(tier)].cancel(found->second, now);
  transfers_.erase(found);
  const std::uint32_t blocks = job.order.target == kGpu ? blocks_at(job, share) : 0;
  return complete(std::move(job), blocks > 0 ? OutcomeKind::partial : OutcomeKind::cancelled, blocks, now);
}

void Mover::each_load(std::uint32_t decider, const std::function<void(const Order&, std::uint32_t)>& visit,
                      Seconds now) {
  for (const auto& [transfer, job] : jobs_) {
    if (job.decider != decider || job.order.target != kGpu) continue;
    TierDevice& device = devices_[static_cast<std::size_t>(job.order.source)];
    visit(job.order, blocks_at(job, device.progress(transfer, now)));
  }
}

std::vector<Completion> Mover::advance(std::size_t device, Seconds now) {
  std::vector<std::uint64_t> finished;
  devices_[device].advance(now, finished);
  std::vector<Completion> completions;
  for (const std::uint64_t transfer : finished) {
    Job& job = jobs_.at(transfer);
    if (!job.writing && is_load(job.order)) loaded_[device] += job.order.bytes;
    if (!job.writing && memory(job.order.target)) {
      device_of(job.order.target).count(Bytes(0), job.order.bytes);
    } else if (!job.writing && job.order.target >= 0) {
      start_write(transfer, job, now);
      continue;
    }
    Job done = std::move(jobs_.extract(transfer).mapped());
    transfers_.erase(name(done.decider, done.order.id));
    const auto blocks = static_cast<std::uint32_t>(done.order.keys.size());
    completions.push_back(complete(std::move(done), OutcomeKind::done, blocks, now));
  }
  return completions;
}

}  // namespace fulcrum::replay
