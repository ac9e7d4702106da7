// FileReads: the read jobs of a file tier. Internal to tiers/file_*.
//
// Neighbouring rows of one extent whose memory is neighbouring too are one request, which the queue cuts into
// pieces; a row counts once all its bytes are there and its checksum is right. A row that fails is read once
// more; then it is lost and the job ends. Segments that a job reads from are not reused before its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tiers/file_tier_core.h"

namespace fulcrum {

class FileReads final : public IoClient {
 public:
  explicit FileReads(FileTierCore& core) : core_(core) {}

  void start(TierRead job);
  /// False where there is no such job.
  bool cancel(JobId id);
  void cancel_all();
  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

  void on_piece(const IoPiece& piece, const Result<void>& result) override;

 private:
  struct Row {
    std::uint64_t sum = 0;
    std::uint32_t segment = 0;
    std::uint32_t page = 0;
    std::uint32_t generation = 0;
    std::int64_t missing = 0;  ///< bytes that have not arrived
    bool verified = false;
    bool again = false;  ///< it is being read a second time
  };
  struct Job {
    TierRead job;
    Seconds started{};
    std::vector<Row> rows;  ///< of the leading blocks that the tier has
    std::uint32_t arrived = 0;
    std::uint32_t pieces_out = 0;
    bool cancelled = false;
    std::optional<Error> failure;
  };

  void locate(Job& job);
  void request(Job& job);
  void push(Job& job, std::size_t from, std::size_t count);
  void on_row(Job& job, std::size_t i);
  void fail_row(Job& job, std::size_t i, const Error& error);
  void advance(Job& job);
  void end_if_done(Job& job);
  [[nodiscard]] Result<void> outcome(const Job& job) const;
  [[nodiscard]] IoRank rank(const Job& job) const;

  FileTierCore& core_;
  std::map<JobId, Job> jobs_;
};

}  // namespace fulcrum
