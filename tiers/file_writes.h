// FileWrites: the write jobs of a file tier, from gathering to publishing. Internal to tiers/file_*.
//
// Jobs gather until there are `commit` bytes or the oldest has waited for `linger`; then their blocks are
// placed, run by run, at the head of the open segment, and written. An extent whose data is complete is told
// to the journal; once that is written its blocks can be read. On turning disks, where the journal is written
// rarely, they can be read as soon as their data is complete. Blocks that the tier holds already are not
// written again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "tiers/aligned_buffer.h"
#include "tiers/file_tier_core.h"

namespace fulcrum {

/// Rows that reclaim wants to keep: consecutive blocks of one extent.
struct Survivors {
  BlockKey parent;
  std::uint32_t first = 0;
  std::uint64_t used_ms = 0;
  std::vector<StoredBlock> blocks;
  std::vector<BlockPlace> places;  ///< where they are now
  std::vector<const std::byte*> rows;
};

class FileWrites final : public IoClient {
 public:
  /// Kinds: no_memory.
  static Result<AlignedBuffer> header_pages();
  FileWrites(FileTierCore& core, AlignedBuffer headers);

  void start(TierWrite job);
  bool cancel(JobId id);
  void cancel_all();
  [[nodiscard]] std::size_t jobs() const { return by_id_.size(); }

  /// Writes survivors of a reclaim; their rows are this object's until moving() is false.
  void move(Survivors survivors);
  [[nodiscard]] bool moving() const { return jobs_.count(kMove) != 0; }
  /// Gives up what of the move has not been placed.
  void give_up_move();

  /// Places what is due, publishes what is written.
  void step();
  [[nodiscard]] std::optional<Seconds> due_at() const;
  /// A job waits for a segment.
  [[nodiscard]] bool wants_segment() const { return wants_segment_; }
  [[nodiscard]] bool move_wants_segment() const { return move_wants_segment_; }
  /// Rows that must be given up before the next job fits the capacity.
  [[nodiscard]] std::uint64_t rows_over() const { return rows_over_; }
  void fail_waiting(const Error& error);

  void on_piece(const IoPiece& piece, const Result<void>& result) override;

 private:
  using Serial = std::uint64_t;
  static constexpr Serial kMove = 0;

  struct Job {
    TierWrite job;
    Seconds started{};
    std::vector<bool> done;     ///< a block can be read
    std::size_t next = 0;       ///< first block that is not placed
    std::uint32_t arrived = 0;  ///< leading blocks that are done
    std::uint32_t extents_out = 0;
    std::optional<Error> failure;
    std::optional<Survivors> survivors;  ///< of the one job that is a move
  };
  struct Extent {
    Serial job = 0;
    std::size_t first_block = 0;  ///< in the job
    ExtentFacts facts;
    std::size_t header = 0;  ///< page of the pool
    std::uint32_t pieces_left = 0;
    std::optional<Error> failure;
    Lsn lsn = 0;
  };

  void gather();
  void place_due();
  /// False where the job cannot go on now.
  bool place_some(Serial serial, Job& job);
  [[nodiscard]] std::size_t run_at(const Job& job, std::size_t from) const;
  /// How many of `run` blocks fit the capacity now: all, or none.
  [[nodiscard]] std::size_t rows_allowed(std::size_t run);
  /// Most bytes of an extent.
  [[nodiscard]] std::int64_t extent_bytes() const;
  [[nodiscard]] std::size_t run_limit() const;
  [[nodiscard]] bool may_open(bool moves) const;
  /// Rows that fit behind the head of the open segment; opens another one where none fits.
  [[nodiscard]] std::uint32_t rows_in_segment(bool moves);
  void write_extent(Serial serial, Job& job, std::size_t count);
  void push_extent(std::uint64_t number, Extent& extent, const Job& job);
  void drop_gone(const Job& job, Extent& extent) const;
  void on_data(std::uint64_t number, Extent& extent);
  void publish_written();
  void finish(std::uint64_t number, bool live);
  void fail_extent(std::uint64_t number, const Error& error);
  void give_up_extents(Serial serial, const Error& error);
  void end_now(Serial serial, const Error& error);
  void advance(Serial serial);

  FileTierCore& core_;
  AlignedBuffer headers_;
  std::vector<std::size_t> free_headers_;
  std::map<Serial, Job> jobs_;  ///< in order of arrival, the move first
  std::deque<Serial> waiting_;  ///< jobs with blocks that are not placed, and ones that ended since
  std::map<JobId, Serial> by_id_;
  std::map<std::uint64_t, Extent> extents_;
  std::deque<std::uint64_t> publishing_;  ///< extents in order of their records
  Serial last_job_ = 0;
  std::uint64_t last_extent_ = 0;
  Serial due_ = 0;              ///< jobs up to this one need not gather any longer
  std::int64_t gathered_ = 0;   ///< bytes of the jobs behind it
  std::int64_t bytes_out_ = 0;  ///< placed and not written
  bool wants_segment_ = false;
  bool move_wants_segment_ = false;
  std::uint64_t rows_over_ = 0;
};

}  // namespace fulcrum
