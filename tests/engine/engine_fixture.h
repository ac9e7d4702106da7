// What the engine's tests share: a policy and profile of small rows, chains of keys, and rows whose content
// follows from their key, so that every loaded byte can be checked.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/tier_setup.h"
#include "fulcrum/engine.h"
#include "tests/support/scratch.h"

namespace fulcrum::test {

inline constexpr std::int64_t kBlockTokens = 64;
inline constexpr std::int64_t kRowBytes = 64 << 10;

inline Namespace test_namespace() {
  return {.model = "test@1", .layout = "paged16", .dtype = "bf16"};
}

/// The example machine with a model of 1 KiB of KV a token: every load pays, and rows are small.
inline MachineProfile test_profile() {
  auto profile = MachineProfile::load(std::string(FULCRUM_SOURCE_DIR) + "/configs/profiles/example.yaml");
  EXPECT_TRUE(profile) << profile.error().message();
  profile->prefill->kv_bytes_per_token = BytesPerToken(kRowBytes / kBlockTokens);
  profile->prefill->kv_bytes_fixed = Bytes(0);
  return *profile;
}

inline TierPolicy test_tier(const std::string& name, Bytes capacity) {
  TierPolicy tier;
  tier.name = tier.profile = name;
  tier.capacity = capacity;
  return tier;
}

/// `dram` blocks of memory (0: no such tier) over files of `file_bytes` in `path` (empty: no such tier).
inline EngineOptions test_options(std::int64_t dram, const std::string& path,
                                  Bytes file_bytes = Bytes(std::int64_t{64} << 20)) {
  EngineOptions options;
  options.name = test_namespace();
  options.profile = test_profile();
  options.policy.block_tokens = Tokens(kBlockTokens);
  options.policy.engine.staging = Bytes(kRowBytes * 128);
  options.policy.engine.deadline = Seconds(20);
  if (dram > 0) options.policy.tiers.push_back(test_tier("dram", Bytes(kRowBytes * dram)));
  if (!path.empty()) {
    options.policy.tiers.push_back(test_tier("nvme", file_bytes));
    options.policy.tiers.back().paths = {path};
  }
  options.other_machine = true;
  return options;
}

/// An engine that runs, or null and a failure of the test.
inline std::unique_ptr<Engine> test_engine(EngineOptions options) {
  auto engine = Engine::open(std::move(options));
  EXPECT_TRUE(engine) << engine.error().message();
  return engine ? std::move(*engine) : nullptr;
}

using Chain = std::vector<BlockKey>;

/// `blocks` keys behind `front`; other seeds, other keys.
inline Chain test_chain(std::int32_t seed, std::size_t blocks, const Chain& front = {}) {
  Chain keys = front;
  BlockKey parent = front.empty() ? BlockKey::root(test_namespace()) : front.back();
  for (std::size_t i = front.size(); i < blocks; ++i) {
    const std::array<std::int32_t, 2> tokens = {seed, static_cast<std::int32_t>(i)};
    keys.push_back(parent = BlockKey::next(parent, tokens));
  }
  return keys;
}

/// The bytes of a block, by its key.
inline std::vector<std::byte> test_row(const BlockKey& key, std::int64_t bytes = kRowBytes) {
  Random random(key.high ^ key.low);
  std::vector<std::byte> row(static_cast<std::size_t>(bytes));
  for (std::size_t at = 0; at + 8 <= row.size(); at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(row.data() + at, &word, 8);
  }
  return row;
}

inline bool same(std::span<const std::byte> row, const BlockKey& key) {
  const std::vector<std::byte> expected = test_row(key, static_cast<std::int64_t>(row.size()));
  return std::memcmp(row.data(), expected.data(), row.size()) == 0;
}

/// Offers a whole chain and waits for the answer.
inline StoreOutcome store_and_wait(Engine& engine, const Chain& keys) {
  std::vector<std::vector<std::byte>> rows;
  StoreRequest request{.chain = keys};
  for (const BlockKey& key : keys) rows.push_back(test_row(key));
  for (const auto& row : rows) request.rows.push_back(row.data());
  std::promise<StoreOutcome> done;
  request.on_done = [&](const StoreOutcome& outcome) { done.set_value(outcome); };
  const Result<void> taken = engine.store(std::move(request));
  EXPECT_TRUE(taken) << taken.error().message();
  return taken ? done.get_future().get() : StoreOutcome{};
}

inline Request test_request(RequestId id, const Chain& keys) {
  Request request;
  request.id = id;
  request.prompt = Tokens(static_cast<std::int64_t>(keys.size()) * kBlockTokens + 10);
  request.blocks = keys;
  return request;
}

/// What there is to say of a tier, for messages.
inline std::string describe(const Engine& engine, std::size_t tier) {
  const EngineTier told = engine.status().tiers[tier];
  return told.name + " " + told.health + " (" + told.reason + "), " + std::to_string(told.blocks) +
         " blocks, " + std::to_string(told.used.value()) + " of " + std::to_string(told.capacity.value()) +
         " bytes, " + std::to_string(told.blocks_written) + " written, " + std::to_string(told.blocks_lost) +
         " lost, " + told.io + ", free rows " + std::to_string(engine.status().free_rows);
}

/// Waits until a tier holds so many blocks. False after so long.
inline bool wait_for_blocks(const Engine& engine, std::size_t tier, std::uint64_t blocks,
                            Seconds most = Seconds(10)) {
  SteadyClock clock;
  for (const Seconds end = clock.now() + most; clock.now() < end; clock.sleep(Seconds(0.01))) {
    if (engine.status().tiers[tier].blocks >= blocks) return true;
  }
  return false;
}

/// Offers a chain until a tier holds so many blocks: rows in flight may leave no room for all of it at once.
inline bool store_until_held(Engine& engine, const Chain& keys, std::size_t tier) {
  SteadyClock clock;
  for (int i = 0; i < 200; ++i) {
    store_and_wait(engine, keys);
    for (int wait = 0; wait < 10; ++wait) {
      if (engine.status().tiers[tier].blocks >= keys.size()) return true;
      clock.sleep(Seconds(0.01));
    }
  }
  return false;
}

/// Number of leading blocks that the load brought, all of them checked; -1 where a byte is wrong.
inline int verified(const Load& load, const Chain& keys) {
  const std::uint32_t ready = load.progress().ready;
  for (std::uint32_t i = 0; i < ready; ++i) {
    if (!same(load.row(i), keys[load.first() + i])) return -1;
  }
  return static_cast<int>(ready);
}

}  // namespace fulcrum::test
