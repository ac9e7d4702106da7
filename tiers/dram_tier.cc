#include "tiers/dram_tier.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "tiers/dram_jobs.h"

namespace fulcrum {

class DramTier::Impl {
 public:
  Impl(std::shared_ptr<RowPool> pool, std::size_t rows, const Clock& clock, TierTally& tally)
      : store(std::move(pool), rows, clock, tally), jobs(store, clock) {}

  DramStore store;
  DramJobs jobs;
  bool closed = false;
};

namespace {

Error closed_error() {
  return make_error(ErrorKind::stale, "start a job on", "the memory tier", "it was closed", "open it again");
}

std::size_t whole_rows(const RowPool& pool, Bytes capacity) {
  const std::int64_t rows = std::max<std::int64_t>(0, capacity.value() / pool.row_bytes().value());
  return std::min(pool.rows(), static_cast<std::size_t>(rows));
}

}  // namespace

DramTier::DramTier(std::shared_ptr<RowPool> pool, Bytes capacity, const Clock& clock)
    : Tier(pool->row_bytes()) {
  const std::size_t rows = whole_rows(*pool, capacity);
  impl_ = std::make_unique<Impl>(std::move(pool), rows, clock, tally_);
}

DramTier::~DramTier() = default;

Lease DramTier::lease(const BlockKey& key) const {
  return impl_->store.find(key);
}

std::optional<std::vector<Row>> DramTier::reserve(std::size_t count) {
  return impl_->store.reserve(count);
}

void DramTier::publish(const BlockKey& parent, std::uint32_t first, std::span<const BlockKey> keys,
                       std::vector<Row> rows, float worth) {
  FULCRUM_CHECK(keys.size() == rows.size(), "one row a key");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const BlockKey& before = i == 0 ? parent : keys[i - 1];
    impl_->store.keep(keys[i], {before, first + static_cast<std::uint32_t>(i), worth}, std::move(rows[i]));
  }
  tally_.blocks_written += keys.size();
}

bool DramTier::contains(const BlockKey& key) const {
  return impl_->store.find(key) != nullptr;
}

TierStatus DramTier::status() const {
  const DramStore& store = impl_->store;
  const auto bytes = [this](std::size_t rows) { return row_bytes() * static_cast<std::int64_t>(rows); };
  TierStatus status;
  status.capacity = bytes(store.quota().limit());
  status.used = bytes(store.quota().used());
  status.allocated = Bytes(static_cast<std::int64_t>(store.quota().limit() * store.stride()));
  status.live = bytes(store.blocks());
  status.blocks = store.blocks();
  return status;
}

std::vector<BlockKey> DramTier::take_lost() {
  return {};
}

void DramTier::each_run(const std::function<void(const StoredRun&)>& visit) const {
  impl_->store.each_run(visit);
}

Result<void> DramTier::close(Seconds limit) {
  impl_->closed = true;
  const std::size_t unfinished = impl_->jobs.finish(limit);
  if (unfinished == 0) return {};
  return make_error(ErrorKind::timed_out, "close", "the memory tier",
                    std::to_string(unfinished) + " jobs had not ended", "give it longer");
}

Result<void> DramTier::do_read(TierRead job) {
  if (impl_->closed) return closed_error();
  impl_->jobs.read(std::move(job));
  return {};
}

Result<void> DramTier::do_write(TierWrite job) {
  if (impl_->closed) return closed_error();
  impl_->jobs.write(std::move(job));
  return {};
}

void DramTier::do_erase(std::span<const BlockKey> keys) {
  impl_->store.erase(keys);
}

void DramTier::do_touch(std::span<const BlockKey> keys, float worth) {
  impl_->store.touch(keys, worth);
}

void DramTier::do_cancel(JobId id) {
  impl_->jobs.cancel(id);
}

std::size_t DramTier::do_poll(std::span<TierEvent> out, Seconds /*wait*/) {
  return impl_->jobs.poll(out);
}

}  // namespace fulcrum
