// StripedJobs: jobs of a striped tier as jobs of its members, and their events merged front to back.
//
// Internal to tiers/striped_*. Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "tiers/striped_members.h"

namespace fulcrum {

class StripedJobs {
 public:
  StripedJobs(StripedMembers& members, const Clock& clock)
      : members_(members), clock_(clock), waiting_(members.size()) {}

  void read(TierRead job);
  void write(TierWrite job);
  void cancel(JobId id);
  /// Gives members what they were too busy for before.
  void start_waiting();
  /// Ends what no member has been given yet.
  void drop_waiting();
  void on_event(const TierEvent& event);
  /// Tells of what has changed since; up to out.size().
  std::size_t tell(std::span<TierEvent> out);

 private:
  /// Consecutive blocks on one member.
  struct Part {
    std::size_t member = 0;
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
    std::uint32_t arrived = 0;
    bool held = false;  ///< blocks of a write that are there already
    bool given = false;
    bool ended = false;
    std::optional<Error> error;
    JobId id = 0;  ///< at the member
  };
  struct Job {
    bool reads = false;
    TierRead read;
    TierWrite write;
    std::vector<Part> parts;  ///< front to back
    std::uint32_t found = 0;  ///< leading blocks that the parts cover
    std::uint32_t told = 0;
    bool queued = false;  ///< to be told of
    Seconds started{};
    [[nodiscard]] const std::vector<BlockKey>& keys() const { return reads ? read.keys : write.keys; }
  };
  struct PartName {
    JobId job = 0;
    std::size_t part = 0;
  };

  void add(JobId id, Job job, std::span<const std::optional<std::size_t>> members);
  /// Gives the member its part. False where it is busy.
  bool start(const PartName& name);
  Result<void> give(const Job& job, const Part& part);
  void end(const PartName& name, std::optional<Error> error);
  void cancel_from(JobId id, std::size_t part);
  void queue(JobId id);
  [[nodiscard]] TierEvent event(JobId id, Job& job) const;

  StripedMembers& members_;
  const Clock& clock_;
  std::unordered_map<JobId, Job> jobs_;
  std::unordered_map<JobId, PartName> parts_;  ///< that have not ended, by id at the member
  std::vector<std::deque<JobId>> waiting_;     ///< by member
  std::deque<JobId> changed_;
  JobId next_ = 1;
};

}  // namespace fulcrum
