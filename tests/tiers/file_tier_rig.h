// A file tier on a device of the tests, with rows whose bytes follow from their key: what a read brings is
// right or wrong beyond doubt, whatever has crashed in between.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/random.h"
#include "tests/support/test_device.h"
#include "tiers/aligned_buffer.h"
#include "tiers/file_tier.h"

namespace fulcrum::test {

inline BlockKey key_of(std::uint64_t chain, std::uint32_t position) {
  const std::array<std::uint64_t, 2> name{chain, position};
  const Hash128 hash = hash128(std::as_bytes(std::span(name)));
  return {hash.high, hash.low};
}
inline std::vector<BlockKey> keys_of(std::uint64_t chain, std::uint32_t first, std::uint32_t count) {
  std::vector<BlockKey> keys;
  for (std::uint32_t i = 0; i < count; ++i) keys.push_back(key_of(chain, first + i));
  return keys;
}
/// The only bytes that were ever written under this key.
inline void content_of(const BlockKey& key, std::span<std::byte> row) {
  Random(key.high ^ key.low).fill(row);
}

/// Rows of memory for jobs.
class Rows {
 public:
  Rows(std::size_t count, std::size_t row_bytes)
      : row_bytes_(row_bytes),
        stride_((row_bytes + 4095) / 4096 * 4096),
        memory_(std::move(*AlignedBuffer::allocate(std::max<std::size_t>(count, 1) * stride_))) {}
  [[nodiscard]] std::byte* at(std::size_t i) const { return memory_.data() + i * stride_; }
  [[nodiscard]] std::span<std::byte> row(std::size_t i) const { return {at(i), row_bytes_}; }
  [[nodiscard]] std::vector<std::byte*> pointers(std::size_t count) const {
    std::vector<std::byte*> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(at(i));
    return out;
  }
  void fill(std::span<const BlockKey> keys) const {
    for (std::size_t i = 0; i < keys.size(); ++i) content_of(keys[i], row(i));
  }
  [[nodiscard]] bool right(std::size_t i, const BlockKey& key) const {
    std::vector<std::byte> wanted(row_bytes_);
    content_of(key, wanted);
    return std::memcmp(wanted.data(), at(i), row_bytes_) == 0;
  }

 private:
  std::size_t row_bytes_;
  std::size_t stride_;
  AlignedBuffer memory_;
};

/// What became of a job.
struct Ended {
  bool ended = false;
  std::uint32_t blocks = 0;
  Result<void> result;
  std::uint32_t wrong = 0;  ///< of the blocks that a read has counted
  [[nodiscard]] ErrorKind kind() const {
    return result.has_error() ? result.error().kind : ErrorKind::internal;
  }
  [[nodiscard]] bool good() const { return ended && !result.has_error(); }
};

struct Rig {
  ManualClock clock;
  FileTierOptions options;
  TestDevice* device = nullptr;  ///< of the tier
  std::unique_ptr<FileTier> tier;
  JobId last_job = 0;
  std::map<JobId, Ended> news;  ///< of jobs that were not waited for yet

  explicit Rig(Bytes row_bytes = Bytes(4096), Bytes capacity = Bytes(1 << 20)) {
    const Result<FileLayout> layout = FileLayout::for_capacity(capacity, row_bytes, Medium::flash);
    EXPECT_FALSE(layout.has_error()) << layout.error().message();
    options.name = {"model-7b", "paged-16", "bf16", 1, "salt"};
    options.layout = *layout;
    options.linger = Seconds(0);
    options.owner = 77;
    options.writer = "pid 1 on host test";
    options.wall = Seconds(86400.0 * 20000);
  }
  [[nodiscard]] Geometry geometry() const {
    return {options.layout.total(), options.layout.meta_bytes, options.layout.segment_bytes, 4096, 64};
  }
  [[nodiscard]] std::size_t row_size() const {
    return static_cast<std::size_t>(options.layout.row_bytes.value());
  }
  /// Opens a tier on a device with these bytes, or on `wrapped` around it.
  Result<void> open(Image image = {},
                    const std::function<std::unique_ptr<Device>(std::unique_ptr<TestDevice>)>& wrap = {}) {
    tier.reset();
    news.clear();
    auto fresh = std::make_unique<TestDevice>(geometry(), clock, std::move(image));
    device = fresh.get();
    std::unique_ptr<Device> used = wrap ? wrap(std::move(fresh)) : std::move(fresh);
    auto opened = FileTier::open(std::move(used), options, clock);
    if (opened.has_error()) {
      device = nullptr;
      return opened.error();
    }
    tier = std::move(*opened);
    return {};
  }
  void must_open(Image image = {}) {
    const Result<void> opened = open(std::move(image));
    ASSERT_FALSE(opened.has_error()) << opened.error().message();
  }
  void must_close() {
    const Result<void> closed = tier->close(Seconds(1));
    EXPECT_FALSE(closed.has_error()) << closed.error().message();
  }
  /// Polls until the job has ended, or nothing happens for `patience`.
  Ended wait(JobId id, Seconds patience = Seconds(5)) {
    const Seconds deadline = clock.now() + patience;
    while (!news[id].ended) {
      if (collect(deadline - clock.now()) == 0 && clock.now() >= deadline) break;
    }
    Ended out = news[id];
    if (out.ended) news.erase(id);
    return out;
  }
  std::size_t collect(Seconds patience) {
    std::array<TierEvent, 8> events;
    const std::size_t count = tier->poll(events, patience);
    for (const TierEvent& event : std::span(events).first(count)) {
      EXPECT_FALSE(news[event.id].ended) << "a job that ended twice";
      news[event.id] = {event.ended, event.blocks, event.result, 0};
    }
    return count;
  }
  Ended write(std::uint64_t chain, std::uint32_t first, std::uint32_t count, float worth = 0) {
    const std::vector<BlockKey> keys = keys_of(chain, first, count);
    const Rows rows(count, row_size());
    rows.fill(keys);
    TierWrite job;
    job.id = ++last_job;
    job.parent = first == 0 ? BlockKey::root(options.name) : key_of(chain, first - 1);
    job.first = first;
    job.keys = keys;
    for (std::uint32_t i = 0; i < count; ++i) job.rows.push_back(rows.at(i));
    job.worth = worth;
    Ended refused;
    refused.result = tier->write(std::move(job));
    if (refused.result.has_error()) return refused;
    Ended out = wait(last_job);
    if (!out.ended) {
      tier->cancel(last_job);
      device->release();
      wait(last_job);
    }
    return out;
  }
  Ended read(const std::vector<BlockKey>& keys, Urgency urgency = Urgency::load) {
    const Rows rows(keys.size(), row_size());
    Ended refused;
    refused.result = tier->read({++last_job, urgency, keys, rows.pointers(keys.size())});
    if (refused.result.has_error()) return refused;
    Ended out = wait(last_job);
    for (std::uint32_t i = 0; i < out.blocks; ++i) out.wrong += rows.right(i, keys[i]) ? 0U : 1U;
    if (!out.ended) {
      tier->cancel(last_job);
      device->release();
      wait(last_job);
    }
    return out;
  }
  Ended read(std::uint64_t chain, std::uint32_t first, std::uint32_t count) {
    return read(keys_of(chain, first, count));
  }
  /// Lets time go by; the tier does what is due.
  void pass(Seconds time) {
    for (const Seconds until = clock.now() + time; clock.now() < until; clock.sleep(Seconds(0.05))) {
      collect(Seconds(0));
    }
  }
  /// How many of the blocks can be read; fails the test where one has wrong bytes.
  std::uint32_t readable(std::uint64_t chain, std::uint32_t first, std::uint32_t count) {
    std::uint32_t good = 0;
    for (std::uint32_t i = first; i < first + count; ++i) {
      const Ended one = read(chain, i, 1);
      EXPECT_EQ(one.wrong, 0U) << "wrong bytes under a key: chain " << chain << " block " << i;
      good += one.good() ? 1U : 0U;
    }
    return good;
  }
};

}  // namespace fulcrum::test
