// A real store in a directory, for the tools that look at stores; and hands that damage its files.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "tests/cli/program.h"
#include "tests/support/scratch.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_store.h"

namespace fulcrum::test {

inline constexpr std::int64_t kStoreRow = 64 << 10;
inline constexpr std::uint32_t kStoreBlocks = 40;  ///< of each chain
inline constexpr std::uint32_t kStoreChains = 3;

inline Namespace store_name() {
  return {.model = "tools@1", .layout = "paged16", .dtype = "bf16", .salt = "pepper"};
}

inline FileStoreOptions store_options() {
  FileStoreOptions options;
  options.name = store_name();
  options.row_bytes = Bytes(kStoreRow);
  options.capacity = Bytes(std::int64_t{32} << 20);
  return options;
}

inline std::vector<BlockKey> store_chain(std::uint32_t chain) {
  std::vector<BlockKey> keys;
  BlockKey parent = BlockKey::root(store_name());
  for (std::uint32_t i = 0; i < kStoreBlocks; ++i) {
    const std::array<std::int32_t, 2> tokens = {static_cast<std::int32_t>(chain),
                                                static_cast<std::int32_t>(i)};
    keys.push_back(parent = BlockKey::next(parent, tokens));
  }
  return keys;
}

/// An open store, and rows to move through it.
class LiveStore {
 public:
  explicit LiveStore(const std::string& directory) {
    auto opened = open_file_store(directory, store_options(), clock_);
    EXPECT_TRUE(opened) << opened.error().message();
    if (opened) store_ = std::move(*opened);
    rows_ = std::move(*AlignedBuffer::allocate(kStoreBlocks * kStoreRow));
  }
  /// Writes a chain; how many blocks were kept.
  std::uint32_t write(std::uint32_t chain) {
    Random(chain + 1).fill(rows_.span());
    TierWrite job;
    job.id = ++job_;
    job.parent = BlockKey::root(store_name());
    job.keys = store_chain(chain);
    for (std::uint32_t i = 0; i < kStoreBlocks; ++i) job.rows.push_back(row(i));
    job.worth = static_cast<float>(chain);
    EXPECT_TRUE(store_.tier->write(std::move(job)));
    return end_of_job();
  }
  /// Leading blocks of a chain that are served; their bytes are checked.
  std::uint32_t served(std::uint32_t chain) {
    TierRead job;
    job.id = ++job_;
    for (const BlockKey& key : store_chain(chain)) {
      if (!store_.tier->contains(key)) break;
      job.keys.push_back(key);
    }
    if (job.keys.empty()) return 0;
    for (std::uint32_t i = 0; i < job.keys.size(); ++i) job.rows.push_back(row(i));
    EXPECT_TRUE(store_.tier->read(std::move(job)));
    const std::uint32_t count = end_of_job();
    auto memory = AlignedBuffer::allocate(kStoreBlocks * kStoreRow);
    const AlignedBuffer wanted = std::move(*memory);
    Random(chain + 1).fill(wanted.span());
    EXPECT_EQ(std::memcmp(wanted.data(), rows_.data(), std::size_t{count} * kStoreRow), 0) << "wrong bytes";
    return count;
  }
  FileTier& tier() { return *store_.tier; }
  void close() { EXPECT_TRUE(store_.tier->close(Seconds(10))); }

 private:
  std::byte* row(std::uint32_t i) { return rows_.data() + std::size_t{i} * kStoreRow; }
  std::uint32_t end_of_job() {
    std::uint32_t blocks = 0;
    for (int looks = 0; looks < 1000; ++looks) {
      std::array<TierEvent, 4> events;
      const std::size_t count = store_.tier->poll(events, Seconds(0.05));
      for (std::size_t i = 0; i < count; ++i) {
        blocks = std::max(blocks, events[i].blocks);
        if (events[i].ended) return blocks;
      }
    }
    ADD_FAILURE() << "a job did not end";
    return blocks;
  }

  SteadyClock clock_;
  AlignedBuffer rows_;  // outlives the store's device
  FileStore store_;
  JobId job_ = 0;
};

/// A store of three chains, closed.
inline void make_store(const std::string& directory) {
  LiveStore store(directory);
  for (std::uint32_t chain = 0; chain < kStoreChains; ++chain) {
    EXPECT_EQ(store.write(chain), kStoreBlocks);
  }
  store.close();
}

inline void flip(const std::string& path, std::int64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const auto byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(offset);
  file.put(byte);
  ASSERT_TRUE(file.flush()) << path;
}

inline nlohmann::json json_in(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in, nullptr, false);
}

/// The segment with most blocks, as inspect tells it.
inline std::string fullest_segment(const std::string& directory, const std::string& json_path) {
  run_program({"inspect", directory, "--json", json_path});
  std::uint64_t most = 0;
  std::uint32_t number = 0;
  for (const auto& segment : json_in(json_path)["segments"]) {
    if (segment["blocks"].get<std::uint64_t>() <= most) continue;
    most = segment["blocks"];
    number = segment["number"];
  }
  std::string name = std::to_string(number);
  name.insert(0, 6 - name.size(), '0');
  return directory + "/segments/" + name;
}

}  // namespace fulcrum::test
