// DramJobs: copies into and out of a DramStore, the urgent ones first, a bounded share at a time.
//
// Internal to tiers/dram_*. A read holds on to its blocks from its start, so that it is whole even where they
// are erased meanwhile; a write has its rows from its start. Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tiers/dram_store.h"

namespace fulcrum {

class DramJobs {
 public:
  /// Bytes that one poll() copies, but always one row: about 1 ms.
  static constexpr std::size_t kShare = std::size_t{8} << 20;

  DramJobs(DramStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  void read(TierRead job);
  void write(TierWrite job);
  void cancel(JobId id);
  std::size_t poll(std::span<TierEvent> out);
  /// Copies on for at most `limit`; what is left is interrupted. The number of those. poll() tells of all.
  std::size_t finish(Seconds limit);

 private:
  struct Job {
    bool reads = false;
    TierRead read;
    TierWrite write;
    std::vector<Lease> leases;   ///< of a read: of the leading blocks that there were
    std::vector<Row> rows;       ///< of a write: for the blocks that were not there
    std::optional<Error> error;  ///< what ends the job in place of further blocks
    std::uint32_t done = 0;      ///< leading blocks
    std::uint32_t told = 0;
    Seconds started{};
    [[nodiscard]] JobId id() const { return reads ? read.id : write.id; }
    [[nodiscard]] std::size_t blocks() const { return reads ? read.keys.size() : write.keys.size(); }
  };
  using Jobs = std::map<std::pair<Urgency, std::uint64_t>, Job>;

  void add(Job job);
  /// Copies blocks of the job while `room` bytes last, which it lowers.
  void advance(Job& job, std::size_t& room);
  void copy_out(Job& job);
  void take_in(Job& job);
  [[nodiscard]] static bool over(const Job& job) { return job.error || job.done == job.blocks(); }
  [[nodiscard]] TierEvent event(Job& job) const;

  DramStore& store_;
  const Clock& clock_;
  Jobs jobs_;
  std::uint64_t next_ = 0;
};

}  // namespace fulcrum
