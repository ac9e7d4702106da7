// Laws about jobs: how they start, go on and end.
#include <algorithm>
#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "tests/tiers/tier_contract_host.h"
#include "tests/tiers/tier_contract_laws.h"

namespace fulcrum::test {

Violations every_job_ends_once(Tier& tier) {
  TierHost host(tier);
  Random random(20262);
  std::vector<JobId> ids;
  const Chain held = make_chain(12, 10);
  host.store(held);
  for (std::int32_t i = 0; i < 20; ++i) {
    if (i % 5 == 4) {
      ids.push_back(host.write(make_chain(1 + random.below(2), 100 + i)));
    } else {
      const std::size_t begin = random.below(held.keys.size());
      ids.push_back(host.read(held.part(begin, 1 + random.below(held.keys.size() - begin)),
                              static_cast<Urgency>(i % 3)));
    }
    if (i % 4 == 0) host.poll(Seconds(0));
  }
  host.drain();
  for (int i = 0; i < 3; ++i) host.expect(!host.poll(Seconds(0)), "an event came after all jobs had ended");
  for (const JobId id : ids) {
    if (id == 0) continue;
    host.expect(host.job(id).ends == 1,
                "job " + std::to_string(id) + " ended " + std::to_string(host.job(id).ends) + " times");
    host.expect(!host.job(id).result.has_error(), "job " + std::to_string(id) + " failed");
  }
  return host.violations();
}

Violations counted_rows_are_the_callers_again(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(12, 11);
  host.store(chain);
  const JobId first = host.read(chain);
  host.drain();
  if (first == 0) return host.violations();
  std::vector<std::byte> before(host.job(first).memory.span().begin(), host.job(first).memory.span().end());
  host.expect_readable(chain);
  host.store(make_chain(4, 12));
  host.expect(std::ranges::equal(before, host.job(first).memory.span()),
              "rows were touched after they had been counted");
  return host.violations();
}

Violations cancelled_jobs_end(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(12, 13);
  host.store(chain);
  const std::vector<JobId> ids{host.read(chain), host.write(make_chain(12, 14)),
                               host.read(chain, Urgency::preload)};
  tier.cancel(12345);
  for (const JobId id : ids) tier.cancel(id);
  for (const JobId id : ids) tier.cancel(id);
  host.drain();
  for (const JobId id : ids) {
    if (id == 0) continue;
    const HostJob& job = host.job(id);
    const bool interrupted = job.result.has_error() && job.result.error().kind == ErrorKind::interrupted;
    host.expect(job.ends == 1 && (interrupted || !job.result.has_error()),
                "a cancelled job ends neither well nor interrupted");
    if (job.reads) continue;
    for (std::size_t i = job.blocks; i < job.chain.keys.size(); ++i) {
      host.expect(!tier.contains(job.chain.keys[i]),
                  "a block of a cancelled write is held, and was never reported");
    }
  }
  host.expect(tier.tally().failed_jobs == 0, "a cancelled job counts as failed");
  host.expect_readable(chain);
  return host.violations();
}

Violations more_than_the_most_jobs_is_busy(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(1, 15);
  host.store(chain);
  for (std::size_t i = 0; i < tier.jobs_max(); ++i) {
    if (host.read(chain) == 0) break;
  }
  JobId id = 0;
  const Result<void> refused = host.try_read(chain, Urgency::load, id);
  host.expect(refused.has_error() && refused.error().kind == ErrorKind::busy && refused.error().retryable,
              "one job too many is not told busy");
  host.expect(tier.in_flight() == tier.jobs_max() || !refused.has_error(), "a refused job is in flight");
  host.drain();
  host.expect_readable(chain);
  return host.violations();
}

Violations bad_jobs_are_refused(Tier& tier) {
  TierHost host(tier);
  auto memory = AlignedBuffer::allocate(std::size_t{1} << 17);
  if (memory.has_error()) return {memory.error().message()};
  std::byte* row = memory->data();
  const Chain chain = make_chain(2, 16);
  const auto refuses = [&](TierRead read, TierWrite write, const std::string& what) {
    const Result<void> read_started = tier.read(std::move(read));
    const Result<void> write_started = tier.write(std::move(write));
    const bool refused = read_started.has_error() && write_started.has_error() &&
                         read_started.error().kind == ErrorKind::bad_input &&
                         write_started.error().kind == ErrorKind::bad_input;
    host.expect(refused && tier.in_flight() == host.running(), what + " is accepted");
  };
  const auto both = [&](JobId id, const std::vector<BlockKey>& keys, const std::vector<std::byte*>& rows,
                        const std::string& what) {
    TierRead read;
    read.id = id;
    read.keys = keys;
    read.rows = rows;
    TierWrite write;
    write.id = id;
    write.parent = chain.parent;
    write.keys = keys;
    write.rows.assign(rows.begin(), rows.end());
    refuses(std::move(read), std::move(write), what);
  };
  both(900, {}, {}, "a job of no blocks");
  both(901, chain.keys, {row}, "a job with fewer rows than keys");
  both(902, chain.keys, {row, nullptr}, "a null row");
  both(903, chain.keys, {row, row + 512}, "a misaligned row");
  const JobId id = host.write(chain);
  both(id, chain.keys, {row, row + (1 << 16)}, "an id that is in use");
  host.drain();
  host.expect_readable(chain);
  return host.violations();
}

Violations a_closed_tier_takes_no_jobs(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(6, 17);
  host.store(chain);
  const JobId read = host.read(chain);
  const JobId write = host.write(make_chain(6, 18));
  const Result<void> closed = tier.close(Seconds(10));
  host.expect(!closed.has_error(),
              "it does not close: " + (closed.has_error() ? closed.error().message() : ""));
  host.drain();
  for (const JobId id : {read, write}) {
    if (id == 0 || host.job(id).ends == 0) continue;
    const Result<void>& result = host.job(id).result;
    host.expect(!result.has_error() || result.error().kind == ErrorKind::interrupted,
                "close() lets a job fail");
  }
  JobId id = 0;
  host.expect(host.try_read(chain, Urgency::load, id).has_error(), "a closed tier takes a read");
  host.expect(host.try_write(chain, 1, id).has_error(), "a closed tier takes a write");
  host.expect(!host.poll(Seconds(0)), "a closed tier has events");
  return host.violations();
}

Violations wake_ends_a_poll(Tier& tier) {
  TierHost host(tier);
  SteadyClock clock;
  host.store(make_chain(4, 19));
  host.read(make_chain(4, 19));
  std::atomic<bool> returned = false;
  const Seconds started = clock.now();
  std::thread poller([&] {
    host.poll(Seconds(20));
    host.poll(Seconds(20));
    returned = true;
  });
  while (!returned) {
    tier.wake();
    clock.sleep(1_ms);
  }
  poller.join();
  host.expect(clock.now() - started < Seconds(10), "a poll went on after wake()");
  host.drain();
  return host.violations();
}

}  // namespace fulcrum::test
