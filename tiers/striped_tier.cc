#include "tiers/striped_tier.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "tiers/striped_jobs.h"
#include "tiers/striped_members.h"

namespace fulcrum {
namespace {

// How long one member is waited for while others work as well: short against the time of a transfer.
constexpr Seconds kTurn{200e-6};

Bytes rows_of(const std::vector<StripedMember>& members) {
  FULCRUM_CHECK(!members.empty(), "a striped tier has members");
  return members.front().tier->row_bytes();
}

std::size_t blocks_of(Bytes stripe, Bytes row) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, stripe.value() / row.value()));
}

}  // namespace

class StripedTier::Impl {
 public:
  Impl(std::vector<StripedMember> parts, std::size_t stripe_blocks, const Clock& time)
      : members(std::move(parts), stripe_blocks), jobs(members, time), clock(time) {}

  /// Looks at every member once. False where nothing has happened.
  bool look() {
    bool any = false;
    for (std::size_t i = 0; i < members.size(); ++i) any = collect(i, Seconds(0)) || any;
    jobs.start_waiting();
    members.refresh();
    return any;
  }

  /// Waits for one member that works, in turn, at most `wait` or until the others want to be looked at. False
  /// where there is nothing to wait for.
  bool rest(Seconds wait) {
    std::size_t working = 0;
    for (std::size_t i = 0; i < members.size(); ++i) working += members[i].in_flight() > 0 ? 1U : 0U;
    if (working == 0) return false;
    do {
      turn = (turn + 1) % members.size();
    } while (members[turn].in_flight() == 0);
    const Seconds begin = clock.now();
    return collect(turn, working == 1 ? wait : std::min(wait, kTurn)) || clock.now() > begin;
  }

  bool collect(std::size_t member, Seconds wait) {
    std::array<TierEvent, 64> events;
    const std::size_t count = members[member].poll(events, wait);
    for (const TierEvent& event : std::span(events).first(count)) jobs.on_event(event);
    return count > 0;
  }

  StripedMembers members;
  StripedJobs jobs;
  const Clock& clock;
  std::size_t turn = 0;
  std::atomic<bool> woken = false;
  bool closed = false;
};

StripedTier::StripedTier(std::vector<StripedMember> members, const StripedOptions& options,
                         const Clock& clock)
    : Tier(rows_of(members)) {
  const std::size_t stripe_blocks = blocks_of(options.stripe_bytes, row_bytes());
  impl_ = std::make_unique<Impl>(std::move(members), stripe_blocks, clock);
}

StripedTier::~StripedTier() = default;

void StripedTier::wake() {
  impl_->woken = true;
  for (std::size_t i = 0; i < impl_->members.size(); ++i) impl_->members[i].wake();
}

bool StripedTier::contains(const BlockKey& key) const {
  return impl_->members.holder(key).has_value();
}

TierStatus StripedTier::status() const {
  TierStatus sum;
  sum.health = Health::dead;
  for (std::size_t i = 0; i < impl_->members.size(); ++i) {
    const TierStatus one = impl_->members[i].status();
    sum.health = std::min(sum.health, one.health);
    sum.capacity += one.capacity;
    sum.used += one.used;
    sum.allocated += one.allocated;
    sum.live += one.live;
    sum.at_once += one.at_once;
    sum.blocks += one.blocks;
  }
  sum.reason = impl_->members.reasons();
  return sum;
}

std::vector<BlockKey> StripedTier::take_lost() {
  std::vector<BlockKey> lost;
  for (std::size_t i = 0; i < impl_->members.size(); ++i) {
    const std::vector<BlockKey> more = impl_->members[i].take_lost();
    lost.insert(lost.end(), more.begin(), more.end());
  }
  return lost;
}

void StripedTier::each_run(const std::function<void(const StoredRun&)>& visit) const {
  impl_->members.each_run(visit);
}

std::size_t StripedTier::jobs_max() const {
  std::size_t most = impl_->members[0].jobs_max();
  for (std::size_t i = 1; i < impl_->members.size(); ++i) most = std::min(most, impl_->members[i].jobs_max());
  return most;
}

// Each member gets an equal share of the time that is left: none may use up that of the others.
Result<void> StripedTier::close(Seconds limit) {
  impl_->closed = true;
  impl_->jobs.drop_waiting();
  Result<void> result;
  const Seconds deadline = impl_->clock.now() + limit;
  for (std::size_t i = 0; i < impl_->members.size(); ++i) {
    const Seconds left = std::max(Seconds(0), deadline - impl_->clock.now());
    const Result<void> closed =
        impl_->members[i].close(left / static_cast<double>(impl_->members.size() - i));
    if (closed.has_error() && !result.has_error()) result = closed;
  }
  while (impl_->look()) {
  }
  return result;
}

Result<void> StripedTier::do_read(TierRead job) {
  if (impl_->closed)
    return make_error(ErrorKind::stale, "read", "the striped tier", "it was closed", "open it again");
  impl_->members.refresh();
  if (impl_->members.best() > Health::degraded) {
    return make_error(ErrorKind::device, "read", "the striped tier", impl_->members.reasons());
  }
  impl_->jobs.read(std::move(job));
  return {};
}

Result<void> StripedTier::do_write(TierWrite job) {
  if (impl_->closed)
    return make_error(ErrorKind::stale, "write", "the striped tier", "it was closed", "open it again");
  impl_->members.refresh();
  if (const Health best = impl_->members.best(); best != Health::healthy) {
    const ErrorKind kind = best == Health::degraded ? ErrorKind::read_only : ErrorKind::device;
    return make_error(kind, "write", "the striped tier", impl_->members.reasons());
  }
  impl_->jobs.write(std::move(job));
  return {};
}

void StripedTier::do_erase(std::span<const BlockKey> keys) {
  for (std::size_t i = 0; i < impl_->members.size(); ++i) impl_->members[i].erase(keys);
}

void StripedTier::do_touch(std::span<const BlockKey> keys, float worth) {
  for (std::size_t i = 0; i < impl_->members.size(); ++i) impl_->members[i].touch(keys, worth);
}

void StripedTier::do_cancel(JobId id) {
  impl_->jobs.cancel(id);
}

std::size_t StripedTier::do_poll(std::span<TierEvent> out, Seconds wait) {
  const Seconds deadline = impl_->clock.now() + wait;
  impl_->look();
  std::size_t count = impl_->jobs.tell(out);
  while (count == 0 && !impl_->woken.exchange(false)) {
    const Seconds left = deadline - impl_->clock.now();
    if (left <= Seconds(0) || !impl_->rest(left)) break;
    impl_->look();
    count = impl_->jobs.tell(out);
  }
  adopt_tallies();
  return count;
}

/// What the face does not count.
void StripedTier::adopt_tallies() {
  tally_.blocks_lost = tally_.corrupt = 0;
  tally_.medium_read = tally_.medium_written = Bytes(0);
  for (std::size_t i = 0; i < impl_->members.size(); ++i) {
    const TierTally& one = impl_->members[i].tally();
    tally_.blocks_lost += one.blocks_lost;
    tally_.corrupt += one.corrupt;
    tally_.medium_read += one.medium_read;
    tally_.medium_written += one.medium_written;
  }
}

}  // namespace fulcrum
