// SimMachine: the engine's own code on a machine that a test makes up, in one thread.
//
// EngineCore, the DRAM tier and two file tiers (flash, HDD) run on a ManualClock over TestDevices: bytes are
// really stored, time is not waited for, and everything that happens follows from what the test does. A
// crash drops any subset of the sectors that no sync has covered; kill keeps them; both start anew from what
// is left. Rows are small, so that a day of traffic fits into seconds.
//
// Threads: one. Deterministic.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "engine/core.h"
#include "engine/port.h"
#include "tests/support/test_device.h"
#include "tiers/file_tier.h"

namespace fulcrum::test {

struct SimMachineOptions {
  std::size_t dram_rows = 48;
  std::size_t staging_rows = 64;
  std::int64_t flash_rows = 200;
  std::int64_t disk_rows = 600;
  Bytes limbo{std::int64_t{1} << 30};
  int flash_gate = 0;  ///< loads from flash at once; 0: as the profile says
  std::optional<BytesPerSecond> flash_write_limit{};
  /// Puts something around a file tier: mutants.
  std::function<std::unique_ptr<Tier>(std::unique_ptr<Tier>)> wrap{};
  /// Mutant: the engine is told the time, but not that it passed. 0: none; else it is told this often only.
  Seconds oversleep{};
  /// Mutant: every so many callbacks one is lost. 0: none.
  int loses_callback = 0;
};

class SimMachine {
 public:
  static constexpr std::int64_t kBlockTokens = 64;
  static constexpr std::size_t kRow = 4096;
  static constexpr std::size_t kFlash = 0;  ///< numbers of the devices; tiers are one more
  static constexpr std::size_t kDisk = 1;

  explicit SimMachine(SimMachineOptions options);
  ~SimMachine();

  [[nodiscard]] Seconds now() const { return clock_.now(); }
  [[nodiscard]] engine::EngineCore& core() { return *core_; }
  [[nodiscard]] TestDevice& device(std::size_t i) { return *devices_[i]; }
  [[nodiscard]] std::size_t devices() const { return devices_.size(); }
  [[nodiscard]] const RowPool& pool() const { return *pool_; }
  [[nodiscard]] static const Namespace& name();

  /// Lets time go by, but not beyond `until`: about one event. Calls back after each.
  void advance(Seconds until, const std::function<void()>& each);
  /// Does what can be done without time going by.
  bool settle();

  /// Power fails, or the process dies (nothing of what was written is lost then); then it starts anew.
  void crash(Random& random);
  void kill();
  /// Closes in good order and starts anew. False where something was left behind.
  bool restart();

  [[nodiscard]] Seconds longest_start() const { return longest_start_; }
  [[nodiscard]] int starts() const { return starts_; }
  /// Stores that could not be read at a start and were replaced.
  [[nodiscard]] int replaced() const { return replaced_; }

 private:
  void start(std::array<Image, 2> images);
  void stop();
  std::unique_ptr<Tier> open(std::size_t i, Image image);
  [[nodiscard]] engine::CoreParts parts();

  SimMachineOptions options_;
  ManualClock clock_;
  std::array<FileTierOptions, 2> files_;
  std::array<TestDevice*, 2> devices_{};
  std::array<engine::InlinePort*, 2> ports_{};
  std::shared_ptr<RowPool> pool_;
  engine::InlineCopier copier_;
  std::deque<std::function<void()>> queue_;  ///< what the engine thread would be asked to do
  std::unique_ptr<engine::EngineCore> core_;
  Seconds step_{};
  Seconds next_told_{};
  Seconds longest_start_{};
  int callbacks_ = 0;
  int starts_ = 0;
  int replaced_ = 0;
};

}  // namespace fulcrum::test
