#include "tiers/tier.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

constexpr std::uintptr_t kRowAlignment = 4096;

bool usable(const std::byte* row) {
  return row != nullptr && reinterpret_cast<std::uintptr_t>(row) % kRowAlignment == 0;
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::healthy:
      return "healthy";
    case Health::degraded:
      return "degraded";
    case Health::disabled:
      return "disabled";
    case Health::dead:
      return "dead";
  }
  return "";
}

Result<void> Tier::admit(JobId id, std::size_t blocks, std::span<const std::byte* const> rows) const {
  const std::string where = "job " + std::to_string(id);
  if (blocks == 0) return bad_input(where, "it has no blocks", "give at least one key");
  if (blocks != rows.size()) {
    return bad_input(where, std::to_string(blocks) + " keys and " + std::to_string(rows.size()) + " rows",
                     "give one row a key");
  }
  const auto bad = std::find_if_not(rows.begin(), rows.end(), usable);
  if (bad != rows.end()) {
    return bad_input(where, "row " + std::to_string(bad - rows.begin()) + " is null or misaligned",
                     "align rows to " + std::to_string(kRowAlignment) + " bytes");
  }
  if (running_.count(id) != 0) return bad_input(where, "a job with this id is running", "use another id");
  if (running_.size() >= jobs_max()) {
    Error full = make_error(ErrorKind::busy, "start", where,
                            std::to_string(running_.size()) + " jobs are running, the most allowed",
                            "poll for events first");
    full.retryable = true;
    return full;
  }
  return {};
}

Result<void> Tier::read(TierRead job) {
  const std::vector<const std::byte*> rows(job.rows.begin(), job.rows.end());
  if (Result<void> fit = admit(job.id, job.keys.size(), rows); fit.has_error()) return fit;
  const JobId id = job.id;
  const Running running{true, static_cast<std::uint32_t>(job.keys.size()), 0};
  Result<void> started = do_read(std::move(job));
  if (!started.has_error()) running_.emplace(id, running);
  return started;
}

Result<void> Tier::write(TierWrite job) {
  if (Result<void> fit = admit(job.id, job.keys.size(), job.rows); fit.has_error()) return fit;
  const JobId id = job.id;
  const Running running{false, static_cast<std::uint32_t>(job.keys.size()), 0};
  Result<void> started = do_write(std::move(job));
  if (!started.has_error()) running_.emplace(id, running);
  return started;
}

void Tier::erase(std::span<const BlockKey> keys) {
  do_erase(keys);
}

void Tier::touch(std::span<const BlockKey> keys, float worth) {
  do_touch(keys, worth);
}

void Tier::cancel(JobId id) {
  if (running_.count(id) != 0) do_cancel(id);
}

void Tier::count(const TierEvent& event) {
  const auto found = running_.find(event.id);
  FULCRUM_CHECK(found != running_.end(), "an event of a job that is not running");
  Running& job = found->second;
  FULCRUM_CHECK(event.blocks >= job.arrived && event.blocks <= job.blocks, "blocks arrive front to back");
  (job.reads ? tally_.blocks_read : tally_.blocks_written) += event.blocks - job.arrived;
  job.arrived = event.blocks;
  if (!event.ended) return;
  if (event.result.has_error() && event.result.error().kind != ErrorKind::interrupted) ++tally_.failed_jobs;
  running_.erase(found);
}

std::size_t Tier::poll(std::span<TierEvent> out, Seconds wait) {
  const std::size_t collected = do_poll(out, wait > Seconds(0) ? wait : Seconds(0));
  FULCRUM_CHECK(collected <= out.size(), "more events than there is room for");
  for (const TierEvent& event : out.first(collected)) count(event);
  return collected;
}

}  // namespace fulcrum
