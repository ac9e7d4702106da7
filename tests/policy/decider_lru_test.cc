// The baseline is what it claims to be: LoadAlways with one tier is plain LRU over blocks, exactly.
#include <gtest/gtest.h>

#include <list>
#include <map>

#include "base/random.h"
#include "decider_fixture.h"

namespace fulcrum::testing {
namespace {

// The plainest LRU over blocks: a prompt is inserted back to front, so that its first block is the newest.
class PlainLru {
 public:
  explicit PlainLru(std::size_t capacity) : capacity_(capacity) {}

  std::size_t leading(const Chain& blocks) const {
    std::size_t known = 0;
    while (known < blocks.size() && places_.contains(blocks[known])) ++known;
    return known;
  }
  void insert(const Chain& blocks) {
    for (auto key = blocks.rbegin(); key != blocks.rend(); ++key) {
      if (const auto found = places_.find(*key); found != places_.end()) order_.erase(found->second);
      order_.push_back(*key);
      places_[*key] = std::prev(order_.end());
      if (order_.size() > capacity_) {
        places_.erase(order_.front());
        order_.pop_front();
      }
    }
  }

 private:
  std::size_t capacity_;
  std::list<BlockKey> order_;  ///< coldest first
  std::map<BlockKey, std::list<BlockKey>::iterator> places_;
};

// Chains that share fronts of many lengths, with a few favourites.
Chain random_chain(Random& random) {
  Chain keys;
  std::uint32_t family = static_cast<std::uint32_t>(random.below(6));
  while (keys.size() < 24 && (keys.empty() || random.uniform() < 0.7)) {
    keys = chain(family, 1 + random.below(6), keys);
    family = 100 + static_cast<std::uint32_t>(random.below(3));
  }
  return keys;
}

TEST(LoadAlwaysDecider, IsPlainLruOverBlocks) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const std::int64_t capacity : {1, 7, 20, 60, 500}) {
      SCOPED_TRACE("capacity " + std::to_string(capacity));
      Random random(seed);
      Decider lru = decider(policy(Strategy::load_always, {{"dram", capacity}}));
      Host host(lru);
      PlainLru plain(static_cast<std::size_t>(capacity));
      for (RequestId id = 1; id <= 1500; ++id) {
        const Seconds now(static_cast<double>(id));
        const Chain blocks = random_chain(random);
        const Plan plan = lru.on_schedule(request(id, blocks), now);
        ASSERT_EQ(static_cast<std::size_t>(plan.load_end.value() / kBlockTokens), plain.leading(blocks))
            << "request " << id;
        host.finish_all(now);
        lru.on_computed(blocks, now);
        plain.insert(blocks);
        host.finish_all(now);
      }
    }
  }
}

}  // namespace
}  // namespace fulcrum::testing
