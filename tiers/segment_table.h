// SegmentTable: what state each segment of a store is in. Plain state, no I/O.
//
//   ungrown --grow--> growing --space taken--> free --open--> open --full or failed--> sealed
//   sealed --retire--> retiring --record written, nobody reads--> free
//
// A segment's generation counts its lives; the journal is told of a new one before the segment is opened.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace fulcrum {

using Lsn = std::uint64_t;  ///< number of a journal record: all up to it are written, or not

enum class SegmentState : std::uint8_t { ungrown, growing, free, open, sealed, retiring };

struct Segment {
  SegmentState state = SegmentState::ungrown;  ///< changed by SegmentTable::move() only
  std::uint32_t generation = 0;
  std::uint32_t head = 0;     ///< first page that nothing was written to
  std::uint32_t readers = 0;  ///< jobs that read from it
  std::uint32_t writers = 0;  ///< extents that are being written to it
  Lsn ready = 0;              ///< of the record that ended its last life
  bool unsynced = false;      ///< written to since it was last made durable
};

class SegmentTable {
 public:
  explicit SegmentTable(std::uint32_t count) : segments_(count) { counts_[0] = count; }

  [[nodiscard]] Segment& operator[](std::uint32_t i) { return segments_[i]; }
  [[nodiscard]] const Segment& operator[](std::uint32_t i) const { return segments_[i]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(segments_.size()); }
  [[nodiscard]] std::uint32_t count(SegmentState state) const {
    return counts_[static_cast<std::size_t>(state)];
  }
  void move(std::uint32_t i, SegmentState to);
  /// The first one in this state.
  [[nodiscard]] std::optional<std::uint32_t> any(SegmentState state) const;
  /// At most one is open.
  [[nodiscard]] std::optional<std::uint32_t> open() const { return open_; }
  /// Segments whose space has been taken from the medium.
  [[nodiscard]] std::uint32_t allocated() const;
  /// Frees those whose record is written and that nobody uses any more; their number.
  std::uint32_t settle(Lsn written);

 private:
  std::vector<Segment> segments_;
  std::array<std::uint32_t, 6> counts_{};  ///< of each state
  std::optional<std::uint32_t> open_;
};

}  // namespace fulcrum
