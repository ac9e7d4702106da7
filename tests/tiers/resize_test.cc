// Another capacity at the next start: the store grows and shrinks with what it holds.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/support/devices.h"
#include "tests/support/scratch.h"
#include "tests/tiers/file_tier_rig.h"
#include "tests/tiers/open_attempt.h"
#include "tiers/file_store.h"
#include "tiers/store_files.h"

namespace fulcrum::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRow = 4096;
constexpr std::uint32_t kLength = 8;  ///< of a chain

/// A store in a directory, opened with one capacity after the other.
class Resized : public ::testing::Test {
 protected:
  FileStoreOptions options(Bytes capacity) const {
    FileStoreOptions out;
    out.name = {"model-7b", "paged-16", "bf16", 1, ""};
    out.row_bytes = Bytes(kRow);
    out.capacity = capacity;
    out.wrap = wrap_;
    return out;
  }
  Result<void> open(Bytes capacity) {
    store_.reset();
    auto opened = open_file_store(directory_.path(), options(capacity), clock_);
    if (opened.has_error()) return opened.error();
    store_.emplace(std::move(*opened));
    return {};
  }
  void must_open(Bytes capacity) {
    const Result<void> opened = open(capacity);
    ASSERT_TRUE(opened) << opened.error().message();
  }
  FileTier& tier() { return *store_->tier; }
  void must_close() {
    const Result<void> closed = tier().close(Seconds(5));
    EXPECT_TRUE(closed) << closed.error().message();
    store_.reset();
  }
  /// Blocks that each of the jobs since `first` has ended with.
  std::vector<std::uint32_t> ends_since(JobId first) {
    std::vector<std::uint32_t> blocks(job_ - first);
    std::size_t open = blocks.size();
    for (int looks = 0; open > 0 && looks < 1000; ++looks) {
      std::array<TierEvent, 16> events;
      const std::size_t count = tier().poll(events, Seconds(0.05));
      for (const TierEvent& event : std::span(events).first(count)) {
        if (!event.ended) continue;
        blocks[event.id - first - 1] = event.blocks;
        --open;
      }
    }
    EXPECT_EQ(open, 0U) << "jobs that did not end";
    return blocks;
  }
  /// Writes chains from this one on; whether all were kept.
  bool write(std::uint64_t from, std::uint64_t count, float worth = 1) {
    const JobId first = job_;
    const Rows rows(count * kLength, kRow);
    for (std::uint64_t chain = from; chain < from + count; ++chain) {
      TierWrite job;
      job.id = ++job_;
      job.parent = BlockKey::root(options({}).name);
      job.keys = keys_of(chain, 0, kLength);
      job.worth = worth;
      for (std::size_t i = 0; i < kLength; ++i) {
        const std::size_t row = (chain - from) * kLength + i;
        content_of(job.keys[i], rows.row(row));
        job.rows.push_back(rows.at(row));
      }
      if (tier().write(std::move(job)).has_error()) return false;
    }
    return std::ranges::all_of(ends_since(first), [](std::uint32_t blocks) { return blocks == kLength; });
  }
  /// Blocks of the first chains that are served; their bytes are checked.
  std::uint32_t served(std::uint64_t chains) {
    std::uint32_t good = 0;
    for (std::uint64_t chain = 0; chain < chains; ++chain) {
      for (const BlockKey& key : keys_of(chain, 0, kLength)) {
        if (!tier().contains(key)) continue;
        const JobId first = job_;
        if (!tier().read({++job_, Urgency::load, {key}, {row_.at(0)}}) || ends_since(first)[0] != 1) continue;
        EXPECT_TRUE(row_.right(0, key)) << "wrong bytes";
        ++good;
      }
    }
    return good;
  }
  /// Writes as many chains as it may hold.
  std::uint64_t fill() {
    const auto chains = static_cast<std::uint64_t>(tier().status().capacity.value() / (kRow * kLength));
    EXPECT_TRUE(write(0, chains));
    return chains;
  }
  [[nodiscard]] Bytes on_disk() const { return StoreFiles::look_at(directory_.path())->allocated; }

  ScratchDirectory directory_;
  SteadyClock clock_;
  Rows row_{1, kRow};
  std::optional<FileStore> store_;
  JobId job_ = 0;
  std::function<std::unique_ptr<Device>(std::unique_ptr<Device>)> wrap_;
};

TEST_F(Resized, AStoreGrowsAndKeepsWhatItHolds) {
  must_open(2_MiB);
  const std::uint64_t chains = fill();
  ASSERT_GT(chains, 20U);
  const Bytes before = tier().status().capacity;
  must_close();
  for (const Bytes capacity : {3_MiB, 16_MiB, 100_MiB}) {
    ASSERT_NO_FATAL_FAILURE(must_open(capacity));
    EXPECT_EQ(served(chains), chains * kLength) << capacity.value();
    EXPECT_GT(tier().status().capacity, before);
    EXPECT_LE(tier().superblock().layout.total(), capacity);
    must_close();
  }
  ASSERT_NO_FATAL_FAILURE(must_open(100_MiB));
  EXPECT_TRUE(tier().recovery().clean) << "and is an ordinary store afterwards";
  EXPECT_EQ(served(chains), chains * kLength);
  ASSERT_TRUE(write(100, 4 * chains));
  EXPECT_EQ(served(chains), chains * kLength) << "it uses its new room";
}

TEST_F(Resized, AStoreShrinksWithWhatFitsAndGivesSpaceBack) {
  must_open(4_MiB);
  const std::uint64_t chains = fill();
  must_close();
  const Bytes full = on_disk();
  ASSERT_NO_FATAL_FAILURE(must_open(3_MiB));
  EXPECT_EQ(tier().recovery().beyond, 0U) << "segments are used from the first one on";
  EXPECT_LE(tier().superblock().layout.total(), 3_MiB);
  must_close();
  ASSERT_NO_FATAL_FAILURE(must_open(1536_KiB));
  EXPECT_GT(tier().recovery().beyond, 0U);
  EXPECT_LE(tier().superblock().layout.total(), 1536_KiB);
  EXPECT_EQ(Bytes(std::int64_t{served(chains)} * kRow), tier().status().capacity) << "as much as it may";
  EXPECT_LT(on_disk(), full);
  EXPECT_LE(on_disk(), 1536_KiB);
  ASSERT_TRUE(write(1000, 6, 5)) << "and it goes on";
  must_close();
  // As where the process died before it gave the space back.
  const std::string left = directory_.write("segments/000012", std::string(100 << 10, 'x'));
  ASSERT_NO_FATAL_FAILURE(must_open(1536_KiB));
  EXPECT_EQ(tier().recovery().beyond, 0U);
  EXPECT_FALSE(fs::exists(left));
  for (const BlockKey& key : keys_of(1005, 0, kLength)) EXPECT_TRUE(tier().contains(key));
}

TEST_F(Resized, TooSmallForItsSegmentsIsRefusedWithTheLeastThatWorks) {
  must_open(64_MiB);
  ASSERT_TRUE(write(0, 1));
  must_close();
  const Result<void> refused = open(4_MiB);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(refused.error().where, "capacity");
  const std::string& step = refused.error().next_step;
  const std::size_t at = step.find("at least ");
  ASSERT_NE(at, std::string::npos) << step;
  const Bytes least(std::stoll(step.substr(at + 9)));
  EXPECT_TRUE(open(least - Bytes(4096)).has_error());
  ASSERT_NO_FATAL_FAILURE(must_open(least));
  EXPECT_EQ(served(1), kLength);
}

TEST_F(Resized, GrowingBeyondTheDiskIsRefusedAndNothingIsTouched) {
  must_open(2_MiB);
  ASSERT_TRUE(write(0, 1));
  const FileLayout before = tier().superblock().layout;
  must_close();
  const Bytes disk(static_cast<std::int64_t>(fs::space(directory_.path()).capacity));
  // Few enough segments to be opened at all would need larger ones: the limit of files may come first.
  const Result<void> refused = open(disk * 2);
  ASSERT_TRUE(refused.has_error());
  EXPECT_FALSE(refused.error().next_step.empty()) << refused.error().message();
  ASSERT_NO_FATAL_FAILURE(must_open(2_MiB));
  EXPECT_EQ(tier().superblock().layout, before);
  EXPECT_EQ(served(1), kLength);
}

TEST_F(Resized, AnotherModelsStoreIsNotResized) {
  must_open(2_MiB);
  ASSERT_TRUE(write(0, 1));
  must_close();
  FileStoreOptions other = options(8_MiB);
  other.name.model = "another";
  const auto refused = open_file_store(directory_.path(), other, clock_);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().kind, ErrorKind::mismatch);
  ASSERT_NO_FATAL_FAILURE(must_open(2_MiB));
  EXPECT_EQ(served(1), kLength);
}

/// Takes no request from a number on, as where the process dies there.
class CutOff final : public PassThrough {
 public:
  CutOff(std::unique_ptr<Device> inner, std::uint64_t from) : PassThrough(std::move(inner)), from_(from) {}

 private:
  Result<void> do_submit(const IoRequest& request) override {
    if (++number_ >= from_) return make_error(ErrorKind::device, "write", "(test)", "cut off", "none");
    return PassThrough::do_submit(request);
  }
  std::uint64_t from_;
  std::uint64_t number_ = 0;
};

TEST_F(Resized, InterruptedAnywhereNothingIsLost) {
  must_open(2_MiB);
  constexpr std::uint64_t kChains = 12;  // half of what it may hold
  ASSERT_TRUE(write(0, kChains));
  must_close();
  const ScratchDirectory kept;
  const auto copy = [](const std::string& from, const std::string& to) {
    for (const auto& entry : fs::directory_iterator(to)) fs::remove_all(entry.path());
    fs::copy(from, to, fs::copy_options::recursive);
  };
  copy(directory_.path(), kept.path());
  int interrupted = 0;
  for (const Bytes wanted : {40_MiB, 2_MiB - 256_KiB}) {
    // Which half of the journal is in use changes with each start.
    for (const int starts : {1, 2}) {
      bool done = false;
      for (std::uint64_t from = 1; !done && from < 40; ++from) {
        copy(kept.path(), directory_.path());
        for (int start = 0; start < starts; ++start) {
          ASSERT_NO_FATAL_FAILURE(must_open(2_MiB)) << from;
          must_close();
        }
        wrap_ = [from](std::unique_ptr<Device> device) {
          return std::make_unique<CutOff>(std::move(device), from);
        };
        done = open(wanted).has_value();
        interrupted += done ? 0 : 1;
        store_.reset();
        wrap_ = {};
        ASSERT_NO_FATAL_FAILURE(must_open(from % 2 == 0 ? 4_MiB : wanted)) << from;
        ASSERT_EQ(served(kChains), kChains * kLength) << from;
        must_close();
      }
      EXPECT_TRUE(done);
    }
  }
  EXPECT_GT(interrupted, 12);
}

}  // namespace
}  // namespace fulcrum::test
