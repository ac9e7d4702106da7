// TierHost: a user of a tier who checks what it is told. For the laws of the tier contract.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/tiers/tier_contract.h"
#include "tiers/aligned_buffer.h"
#include "tiers/tier.h"

namespace fulcrum::test {

/// Keys of a chain, front to back, behind `parent`.
struct Chain {
  BlockKey parent;
  std::uint32_t first = 0;
  std::vector<BlockKey> keys;

  [[nodiscard]] Chain part(std::size_t begin, std::size_t count) const;
};
[[nodiscard]] BlockKey chain_root();
[[nodiscard]] Chain make_chain(std::size_t blocks, std::int32_t seed);
[[nodiscard]] Chain make_branch(const Chain& trunk, std::size_t at, std::size_t blocks, std::int32_t seed);

/// One job as its user sees it. Rows lie a guard page apart, and stay mapped as long as the host.
struct HostJob {
  bool reads = false;
  Chain chain;
  AlignedBuffer memory;
  std::vector<std::byte*> rows;
  std::set<BlockKey> erased;  ///< since it was started
  std::uint32_t blocks = 0;   ///< that events have counted
  int ends = 0;
  Result<void> result;
};

class TierHost {
 public:
  explicit TierHost(Tier& tier) : tier_(tier) {}
  ~TierHost();
  TierHost(const TierHost&) = delete;
  TierHost& operator=(const TierHost&) = delete;

  [[nodiscard]] Tier& tier() { return tier_; }
  void expect(bool holds, const std::string& otherwise);
  [[nodiscard]] bool fine() const { return violations_.empty(); }
  [[nodiscard]] Violations violations() { return std::move(violations_); }

  /// Starts a job; its rows are given and checked. 0 where it was refused, which is a violation.
  JobId write(const Chain& chain, float worth = 1);
  JobId read(const Chain& chain, Urgency urgency = Urgency::load);
  /// The same without a word where it is refused.
  Result<void> try_write(const Chain& chain, float worth, JobId& id);
  Result<void> try_read(const Chain& chain, Urgency urgency, JobId& id);

  void erase(const std::vector<BlockKey>& keys);
  /// Keys that the tier has told it gave up, since the start.
  [[nodiscard]] const std::set<BlockKey>& lost();

  /// Collects once. False where nothing came.
  bool poll(Seconds wait);
  /// Until all jobs have ended; a job that does not is a violation.
  void drain();
  /// A job that is drained.
  HostJob& job(JobId id) { return jobs_.at(id); }
  [[nodiscard]] std::size_t running() const { return running_; }

  /// Writes, waits and expects success; reads and compares all bytes.
  void store(const Chain& chain, float worth = 1);
  void expect_readable(const Chain& chain);
  /// Reads, waits and expects so many leading blocks and then not_found.
  void expect_missing_at(const Chain& chain, std::size_t blocks);
  /// Counted rows of a read hold the bytes of their keys.
  void check_rows(const HostJob& job, std::uint32_t begin, std::uint32_t end);

 private:
  [[nodiscard]] HostJob make_job(bool reads, const Chain& chain) const;
  void on_event(const TierEvent& event);

  Tier& tier_;
  std::set<BlockKey> lost_;
  std::map<JobId, HostJob> jobs_;
  std::size_t running_ = 0;
  JobId next_ = 1;
  Violations violations_;
};

/// What a block of this key holds.
void fill_content(const BlockKey& key, std::span<std::byte> row);

}  // namespace fulcrum::test
