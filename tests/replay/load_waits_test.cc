#include "replay/load_waits.h"

#include <gtest/gtest.h>

#include <vector>

namespace fulcrum::replay {
namespace {

std::vector<BlockKey> keys_of(std::uint64_t first, std::uint64_t count) {
  std::vector<BlockKey> keys;
  for (std::uint64_t i = 0; i < count; ++i) keys.push_back(BlockKey{1, first + i});
  return keys;
}

using Requests = std::vector<std::uint32_t>;

TEST(LoadWaits, EndWhenTheLastBlockArrives) {
  LoadWaits waits;
  const auto keys = keys_of(0, 6);
  waits.expect(1, keys);
  EXPECT_EQ(waits.deliver(std::span(keys).last(3), 3), Requests{}) << "the back alone does not do";
  EXPECT_EQ(waits.deliver(std::span(keys).first(3), 3), Requests{1});
  EXPECT_EQ(waits.finish(1), 6U);
  EXPECT_EQ(waits.size(), 0U);
}

TEST(LoadWaits, OneReadServesAllWhoWaitForIt) {
  LoadWaits waits;
  const auto keys = keys_of(0, 4);
  waits.expect(1, keys);
  waits.expect(2, std::span(keys).first(2));
  EXPECT_EQ(waits.deliver(keys, 4), (Requests{1, 2}));
}

TEST(LoadWaits, ALostBlockEndsTheWaitWithTheLeadingRunThatCame) {
  LoadWaits waits;
  const auto keys = keys_of(0, 6);
  waits.expect(1, keys);
  EXPECT_EQ(waits.deliver(std::span(keys).last(2), 2), Requests{});
  EXPECT_EQ(waits.deliver(std::span(keys).first(4), 3), Requests{1}) << "the fourth was lost";
  EXPECT_EQ(waits.finish(1), 3U);
}

TEST(LoadWaits, CreditCountsForOneRequestOnly) {
  LoadWaits waits;
  const auto keys = keys_of(0, 4);
  waits.expect(1, keys);
  waits.expect(2, keys);
  waits.credit(1, std::span(keys).first(2));
  EXPECT_EQ(waits.finish(1), 2U);
  EXPECT_EQ(waits.finish(2), 0U);
}

}  // namespace
}  // namespace fulcrum::replay
