// Laws about what a tier holds and gives back.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "tests/tiers/tier_contract_host.h"
#include "tests/tiers/tier_contract_laws.h"

namespace fulcrum::test {
namespace {

std::size_t room_of(const Tier& tier) {
  return static_cast<std::size_t>(tier.status().capacity.value() / tier.row_bytes().value());
}

}  // namespace

Violations reads_back_what_was_written(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(24, 1);
  host.expect(!tier.contains(chain.keys[0]), "a fresh tier holds something");
  host.store(chain.part(0, 1));
  host.store(chain.part(1, 7));
  host.store(chain.part(8, 16));
  host.expect_readable(chain);
  host.expect_readable(chain.part(5, 9));
  const TierStatus status = tier.status();
  host.expect(status.blocks == 24, "24 blocks were written, the status has " + std::to_string(status.blocks));
  host.expect(status.live == tier.row_bytes() * 24, "live bytes are not those of the blocks");
  host.expect(tier.tally().blocks_written == 24 && tier.tally().blocks_read == 33,
              "the tally counts otherwise");
  host.expect(tier.tally().failed_jobs == 0, "jobs that ended well count as failed");
  return host.violations();
}

Violations what_is_not_held_is_not_found(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(9, 2);
  host.expect_missing_at(chain, 0);
  host.store(chain.part(0, 6));
  host.expect_missing_at(chain, 6);
  host.expect_missing_at(chain.part(6, 3), 0);
  host.erase({chain.keys[2]});
  host.expect_missing_at(chain, 2);
  host.expect_readable(chain.part(3, 3));
  return host.violations();
}

Violations erased_is_forgotten(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(8, 3);
  host.store(chain);
  host.erase(chain.part(4, 4).keys);
  host.erase(make_chain(3, 99).keys);
  for (std::size_t i = 0; i < 8; ++i) {
    host.expect(tier.contains(chain.keys[i]) == (i < 4), "contains() is wrong of block " + std::to_string(i));
  }
  host.expect(tier.status().blocks == 4, "erased blocks are still counted");
  host.expect_missing_at(chain, 4);
  host.store(chain.part(4, 4));
  host.expect_readable(chain);
  return host.violations();
}

Violations writing_again_is_harmless(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(12, 4);
  host.store(chain.part(0, 8));
  host.store(chain.part(0, 8));
  host.store(chain);
  host.expect(tier.status().blocks == 12, "a block that is written again counts twice");
  host.expect_readable(chain);
  return host.violations();
}

namespace {

void check_capacity(TierHost& host) {
  const TierStatus status = host.tier().status();
  host.expect(status.used <= status.capacity, "used exceeds the capacity");
  host.expect(status.live <= status.used, "more is live than is used");
  host.expect(status.blocks <= room_of(host.tier()), "more blocks than the capacity has room for");
}

/// Reads what is held, one block a job, all at once.
void expect_held_readable(TierHost& host, const std::set<BlockKey>& keys) {
  std::vector<JobId> reads;
  for (const BlockKey& key : keys) {
    if (host.tier().contains(key)) reads.push_back(host.read({chain_root(), 0, {key}}));
  }
  host.drain();
  for (const JobId id : reads) {
    const bool failed = id != 0 && host.job(id).result.has_error();
    host.expect(!failed || host.lost().count(host.job(id).chain.keys[0]) != 0,
                "a block that is held does not come");
  }
}

}  // namespace

// Three times as much as there is room for, several writes at a time.
Violations capacity_is_never_exceeded(Tier& tier) {
  TierHost host(tier);
  constexpr std::size_t kBlocks = 8;
  constexpr std::size_t kWriters = 5;
  const std::size_t room = room_of(tier);
  std::vector<JobId> writes;
  for (std::size_t i = 0; i * kBlocks < 3 * room && host.fine(); ++i) {
    writes.push_back(
        host.write(make_chain(kBlocks, 1000 + static_cast<std::int32_t>(i)), static_cast<float>(i % 7)));
    check_capacity(host);
    for (int polls = 0; host.running() >= kWriters && polls < 100; ++polls) {
      host.poll(Seconds(0.2));
      check_capacity(host);
    }
  }
  host.drain();
  check_capacity(host);
  if (!host.fine()) return host.violations();
  std::set<BlockKey> reported;
  for (const JobId id : writes) {
    const HostJob& job = host.job(id);
    const bool full = job.result.has_error() && job.result.error().kind == ErrorKind::no_space;
    host.expect(!job.result.has_error() || full, "a write fails otherwise than for want of space");
    reported.insert(job.chain.keys.begin(), job.chain.keys.begin() + job.blocks);
  }
  for (const BlockKey& key : host.lost()) reported.erase(key);
  for (const BlockKey& key : reported)
    host.expect(tier.contains(key), "a block is gone, and nobody was told");
  host.expect(reported.size() * 4 >= room, "most of the capacity is never used");
  expect_held_readable(host, reported);
  return host.violations();
}

Violations runs_list_what_can_be_read(Tier& tier) {
  TierHost host(tier);
  const Chain trunk = make_chain(10, 5);
  const Chain branch = make_branch(trunk, 4, 5, 6);
  host.store(trunk.part(0, 6), 3);
  host.store(trunk.part(6, 4), 3);
  host.store(branch, -2);
  host.erase(trunk.part(7, 1).keys);
  tier.touch(branch.keys, 5);
  tier.touch(make_chain(2, 98).keys, 5);
  struct Expected {
    BlockKey parent;
    std::uint32_t first = 0;
    float worth = 0;
  };
  std::map<BlockKey, Expected> expected;
  for (const Chain* chain : {&trunk, &branch}) {
    for (std::uint32_t i = 0; i < chain->keys.size(); ++i) {
      if (chain == &trunk && i == 7) continue;
      expected[chain->keys[i]] = {i == 0 ? chain->parent : chain->keys[i - 1], chain->first + i,
                                  chain == &trunk ? 3.F : 5.F};
    }
  }
  tier.each_run([&](const StoredRun& run) {
    BlockKey parent = run.parent;
    host.expect(!run.keys.empty(), "a run of no blocks");
    host.expect(run.age >= Seconds(0), "a run from the future");
    for (std::uint32_t i = 0; i < run.keys.size(); ++i) {
      const auto found = expected.find(run.keys[i]);
      if (found == expected.end())
        return host.expect(false, "a run lists a block that is not held, or twice");
      host.expect(found->second.parent == parent, "a run has a wrong parent");
      host.expect(found->second.first == run.first + i, "a run has a wrong position");
      host.expect(std::abs(found->second.worth - run.worth) < 0.01F, "a run has a wrong worth");
      parent = run.keys[i];
      expected.erase(found);
    }
  });
  host.expect(expected.empty(), std::to_string(expected.size()) + " blocks are in no run");
  return host.violations();
}

Violations erasing_what_is_read_spoils_nothing(Tier& tier) {
  TierHost host(tier);
  const Chain chain = make_chain(16, 7);
  const Chain other = make_chain(16, 8);
  host.store(chain);
  const JobId read = host.read(chain);
  host.erase(chain.keys);
  host.expect(!tier.contains(chain.keys[0]), "an erased block is still there while it is read");
  host.write(other);
  host.drain();  // looks at all bytes that came
  if (read == 0) return host.violations();
  const Result<void>& result = host.job(read).result;
  host.expect(!result.has_error() || result.error().kind == ErrorKind::not_found,
              "a read of erased blocks fails otherwise than by not_found");
  host.expect_missing_at(chain, 0);
  return host.violations();
}

// Random jobs against a list of what must be there: right bytes or not_found, and never a silent loss.
Violations any_history_gives_the_right_bytes(Tier& tier) {
  TierHost host(tier);
  Random random(20261);
  std::vector<Chain> chains;
  for (std::int32_t i = 0; i < 6; ++i) chains.push_back(make_chain(12, 50 + i));
  for (int step = 0; step < 120; ++step) {
    const Chain& chain = chains[random.below(chains.size())];
    const std::size_t begin = random.below(chain.keys.size());
    const Chain part = chain.part(begin, 1 + random.below(chain.keys.size() - begin));
    switch (random.below(8)) {
      case 0:
        host.erase(part.keys);
        break;
      case 1:
        tier.touch(part.keys, static_cast<float>(random.below(9)));
        break;
      case 2:
        if (host.running() > 0) tier.cancel(1 + random.below(static_cast<std::uint64_t>(step) + 1));
        break;
      case 3:
      case 4:
        host.write(part, static_cast<float>(random.below(5)));
        break;
      default:
        host.read(part, static_cast<Urgency>(random.below(3)));
    }
    if (random.below(3) == 0) host.poll(Seconds(0));
    if (random.below(20) == 0) host.drain();
    if (Violations found = host.violations(); !found.empty()) {
      found.push_back("seed 20261, step " + std::to_string(step));
      return found;
    }
  }
  host.drain();
  std::set<BlockKey> keys;
  for (const Chain& chain : chains) keys.insert(chain.keys.begin(), chain.keys.end());
  expect_held_readable(host, keys);
  return host.violations();
}

}  // namespace fulcrum::test
