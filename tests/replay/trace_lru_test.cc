// Outside check of the Mooncake reader: plain LRU reproduces the published hit ratios of the conversation
// trace. The counting rule, which the simulation's own LRU baseline must share:
//
//   - requests in the order of the file, one after another;
//   - the hit is the leading run of keys that the cache holds: min(prompt, run x 512) tokens;
//   - then the whole prompt is used, tail first, so that a parent is never colder than its child;
//   - every block, the last partial one too, takes 512 tokens of room; M is 2^20 tokens;
//   - the ratio is hit tokens over prompt tokens, over all requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>

#include "replay/trace.h"

namespace fulcrum::replay {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

/// Exact LRU over blocks of equal size. Capacity 0: unbounded.
class Lru {
 public:
  explicit Lru(std::size_t blocks_max) : blocks_max_(blocks_max) {}

  [[nodiscard]] bool holds(const BlockKey& key) const { return places_.contains(key); }

  void use(const BlockKey& key) {
    const auto [place, fresh] = places_.try_emplace(key);
    if (fresh) {
      order_.push_front(key);
      place->second = order_.begin();
    } else {
      order_.splice(order_.begin(), order_, place->second);
    }
    if (blocks_max_ > 0 && places_.size() > blocks_max_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
  }

 private:
  std::size_t blocks_max_;
  std::list<BlockKey> order_;
  std::map<BlockKey, std::list<BlockKey>::iterator> places_;
};

double lru_hit_ratio(const Trace& trace, std::int64_t capacity_tokens) {
  Lru lru(static_cast<std::size_t>(capacity_tokens / trace.block_tokens.value()));
  Tokens hit{};
  Tokens all{};
  for (const TraceRequest& request : trace.requests) {
    const auto keys = trace.blocks(request);
    const auto known = std::ranges::find_if_not(keys, [&](const BlockKey& key) { return lru.holds(key); });
    hit += std::min(request.prompt, trace.block_tokens * (known - keys.begin()));
    all += request.prompt;
    std::for_each(keys.rbegin(), keys.rend(), [&](const BlockKey& key) { lru.use(key); });
  }
  return hit / all;
}

Trace conversation(Tokens block_tokens = Tokens(0)) {
  TraceOptions options;
  options.block_tokens = block_tokens;
  auto trace =
      read_trace(FULCRUM_SOURCE_DIR "/data/mooncake_conversation/conversation_trace.jsonl.zst", options);
  EXPECT_TRUE(trace.has_value()) << (trace.has_error() ? trace.error().message() : "");
  return trace.has_value() ? *trace : Trace{};
}

TEST(TraceLru, ReproducesThePublishedHitRatiosOfTheConversationTrace) {
  const Trace trace = conversation();
  ASSERT_EQ(trace.requests.size(), 12'031U);
  EXPECT_NEAR(lru_hit_ratio(trace, 1 * kMi), 0.056, 0.002);
  EXPECT_NEAR(lru_hit_ratio(trace, 4 * kMi), 0.185, 0.002);
  EXPECT_NEAR(lru_hit_ratio(trace, 16 * kMi), 0.341, 0.002);
  EXPECT_NEAR(lru_hit_ratio(trace, 64 * kMi), 0.373, 0.002);
  EXPECT_NEAR(lru_hit_ratio(trace, 0), 0.374, 0.002);
}

TEST(TraceLru, NoticesKeysThatForgetTheirPrefix) {
  Trace trace = conversation();
  for (BlockKey& key : trace.keys) key.low = key.high %= 4'096;
  EXPECT_GT(lru_hit_ratio(trace, 0), 0.5) << "the check would not have seen colliding keys";
}

TEST(TraceLru, CoarserBlocksFindTheSameReuseButForTheirRounding) {
  const double fine = lru_hit_ratio(conversation(), 0);
  const double coarse = lru_hit_ratio(conversation(Tokens(2'048)), 0);
  EXPECT_LT(coarse, fine);
  EXPECT_GT(coarse, fine - 0.12);
}

}  // namespace
}  // namespace fulcrum::replay
