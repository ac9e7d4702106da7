// BenchStore: an engine on a scratch store, with one long chain of blocks whose bytes follow from their keys.
//
// All files lie in a directory of their own below the one that is given, which goes with BenchScratch, also
// after an error or Ctrl-C. Every row that is loaded is checked.
// Threads: one at a time; load() is called by as many as like.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "calibrate/payload.h"
#include "fulcrum/engine.h"
#include "fulcrum/key.h"
#include "tiers/device.h"
#include "tiers/uring_bare_loop.h"

namespace fulcrum::cli {

/// A directory of its own below another one, removed with all that is in it.
class BenchScratch {
 public:
  /// Kinds: not_found, permission, no_space, read_only.
  static Result<std::unique_ptr<BenchScratch>> make(const std::string& parent);
  ~BenchScratch();
  BenchScratch(const BenchScratch&) = delete;
  BenchScratch& operator=(const BenchScratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit BenchScratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Blocks as the bench writes and knows them.
class BenchBlocks {
 public:
  static constexpr std::int64_t kTokens = 64;  ///< of a block
  BenchBlocks(Bytes row, std::size_t count, std::int32_t seed = 0);

  [[nodiscard]] Bytes row() const { return row_; }
  [[nodiscard]] std::size_t count() const { return keys_.size(); }
  [[nodiscard]] std::span<const BlockKey> keys() const { return keys_; }
  /// Makes the bodies of rows once; stamping makes a row the bytes of a block.
  void fill(std::span<std::byte> rows) { payload_.fill(rows); }
  void stamp(std::span<std::byte> row, std::size_t block) const { payload_.stamp(row, place(block)); }
  /// Whether some sectors, or all bytes, are those of the block.
  [[nodiscard]] bool some_right(std::span<const std::byte> row, std::size_t block) const;
  [[nodiscard]] bool all_right(std::span<const std::byte> row, std::size_t block) const {
    return payload_.wrong_sectors(row, place(block)) == 0;
  }

 private:
  [[nodiscard]] std::int64_t place(std::size_t block) const;
  Bytes row_;
  std::vector<BlockKey> keys_;
  calibrate::Payload payload_;
};

struct BenchStoreOptions {
  std::string directory;  ///< exists, and holds nothing else
  Bytes row{};
  std::size_t blocks = 0;  ///< that it must have room for
  Bytes staging{std::int64_t{1} << 30};
  BareSetting io;
  int gate = 0;  ///< loads at once; 0: from `profile`
  MachineProfile profile;
  std::string tier;  ///< of the profile, whose costs are used
};

/// Space that such a store takes on the disk, at most.
[[nodiscard]] Bytes bench_store_space(Bytes row, std::size_t blocks);

class BenchStore {
 public:
  using Wrap = std::function<std::unique_ptr<Device>(const std::string&, std::unique_ptr<Device>)>;
  /// Kinds: those of Engine::open. `stop` outlives the store: work ends early once it is set.
  static Result<std::unique_ptr<BenchStore>> open(const BenchStoreOptions& options,
                                                  const std::atomic<bool>& stop, const Wrap& wrap = {});

  /// Stores the chain's blocks [0, count) until the tier reports them; how long that took.
  Result<Seconds> store(BenchBlocks& blocks, std::size_t count);

  struct Loaded {
    Seconds first{};  ///< until the first block was readable
    Seconds last{};
  };
  /// Loads blocks [first, first + count) and lets them go as they come. `every_byte`: checks all of them.
  Result<Loaded> load(const BenchBlocks& blocks, std::size_t first, std::size_t count, bool every_byte);
  [[nodiscard]] Engine& engine() { return *engine_; }
  /// What is really used: "io_uring, O_DIRECT, ...".
  [[nodiscard]] std::string io() const { return engine_->status().tiers.front().io; }

 private:
  BenchStore(std::unique_ptr<Engine> engine, Bytes window, const std::atomic<bool>& stop)
      : engine_(std::move(engine)), window_(window), stop_(stop) {}
  Result<void> offer(BenchBlocks& blocks, std::size_t& next, std::size_t end, std::span<std::byte> rows);

  std::unique_ptr<Engine> engine_;
  Bytes window_;
  const std::atomic<bool>& stop_;
  SteadyClock clock_;
  std::atomic<RequestId> request_ = 1;
};

/// The error of whoever was stopped.
[[nodiscard]] Error bench_stopped();

}  // namespace fulcrum::cli
