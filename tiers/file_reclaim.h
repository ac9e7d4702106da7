// FileReclaim: makes room in a store that is full. Internal to tiers/file_*.
//
// Its victim is the sealed segment with the least live worth, the sum of 2^worth of its blocks. The worthiest
// rows, at most half a segment, are read, verified and written again; then the segment is retired: the
// journal is told, what is left of it is lost, and it is free once nobody reads from it any more.
// Loads never wait for it; its transfers have the rank of write-back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tiers/aligned_buffer.h"
#include "tiers/file_tier_core.h"
#include "tiers/file_writes.h"

namespace fulcrum {

class FileReclaim final : public IoClient {
 public:
  /// Room for the rows of one move. Kinds: no_memory.
  static Result<AlignedBuffer> row_buffer(const FileTierOptions& options);
  FileReclaim(FileTierCore& core, FileWrites& writes, AlignedBuffer rows)
      : core_(core), writes_(writes), rows_(std::move(rows)) {}

  void step();
  /// A segment is being emptied, or one that was is about to be free.
  [[nodiscard]] bool busy() const;
  /// Gives up what it is doing; its reads may still be out.
  void stop();

  void on_piece(const IoPiece& piece, const Result<void>& result) override;

 private:
  /// Blocks of one extent, consecutive, that are to be kept.
  struct Run {
    std::uint32_t extent = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  [[nodiscard]] bool needed() const;
  [[nodiscard]] std::optional<std::uint32_t> pick();
  [[nodiscard]] double worth_of(std::uint32_t segment) const;
  void choose_survivors(std::uint32_t segment);
  [[nodiscard]] std::size_t keep_limit(std::uint32_t segment) const;
  void read_next();
  void write_read();
  [[nodiscard]] std::uint32_t rows_at_once() const;
  void retire();

  FileTierCore& core_;
  FileWrites& writes_;
  AlignedBuffer rows_;
  std::optional<std::uint32_t> victim_;
  std::vector<Run> runs_;  ///< that are still to be moved
  Run current_;
  std::uint32_t pieces_out_ = 0;
  bool reading_ = false;
  bool failed_ = false;
};

}  // namespace fulcrum
