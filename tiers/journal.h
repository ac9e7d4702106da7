// Journal: the two superblocks and two journal halves of a store, as a state machine that asks for I/O.
//
// Records are appended in batches to the active half. When the half is full, when a batch failed, or when it
// is asked to, the journal writes a checkpoint of the live state into the other half, makes it durable, and
// has a superblock point to it. Records that come meanwhile follow the checkpoint; the checkpoint is not of
// one moment, but replaying what follows it leads to the same state.
//
// At most one request is out at a time: next() names it, done() tells what came of it. After a batch that
// failed, records wait for a checkpoint. A checkpoint that fails breaks the journal: records are dropped
// until another one, which is asked for and holds what they said, has succeeded. Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "fulcrum/result.h"
#include "tiers/aligned_buffer.h"
#include "tiers/device.h"
#include "tiers/format.h"
#include "tiers/segment_table.h"

namespace fulcrum {

/// The live state, piece by piece, for a checkpoint.
class CheckpointSource {
 public:
  virtual void rewind() = 0;
  /// Appends encoded records, at most `room` bytes; their number. 0: there are no more.
  virtual std::uint32_t encode_more(std::vector<std::byte>& out, std::size_t room) = 0;

 protected:
  ~CheckpointSource() = default;
};

class Journal {
 public:
  /// Continues behind `superblock`, the one that is valid on the device, or a new one with sequence 0.
  /// Nothing is appended before the first checkpoint: what ends a half that was found is not known.
  /// `slot` is the place of `superblock`; for a new store, 1. Kinds: no_memory.
  static Result<Journal> create(const Superblock& superblock, int slot, CheckpointSource& source);

  /// Queues a record. While the journal is broken it is dropped: the next checkpoint says the same.
  Lsn append(const Record& record);
  /// All records up to this one are on the device, or in a checkpoint there.
  [[nodiscard]] Lsn written() const { return written_; }
  /// The last record that was queued.
  [[nodiscard]] Lsn appended() const { return appended_; }
  [[nodiscard]] bool broken() const { return broken_; }

  void request_checkpoint() { checkpoint_wanted_ = true; }
  /// Asks to make durable what was written.
  void request_sync() { sync_wanted_ = true; }
  /// Asks for the superblock that says that the store was closed. Nothing may be appended afterwards.
  void request_close() { close_wanted_ = true; }
  /// Nothing is to be done and nothing is out.
  [[nodiscard]] bool idle() const;
  /// It has records to write and nothing else to do.
  [[nodiscard]] bool only_records() const {
    return step_ == Step::idle && !out_ && !sizes_.empty() && !checkpoint_wanted_ && !sync_wanted_ &&
           !close_wanted_;
  }
  [[nodiscard]] bool closed() const { return superblock_.clean; }
  [[nodiscard]] bool unsynced() const { return unsynced_; }

  /// The next request, where there is one and none is out. Its tag is not set.
  [[nodiscard]] std::optional<IoRequest> next(std::uint64_t time_ms);
  void done(const Result<void>& result);

  [[nodiscard]] const Superblock& superblock() const { return superblock_; }

 private:
  enum class Step : std::uint8_t {
    idle,
    append,
    sync,
    chunk,            // of a checkpoint
    checkpoint_sync,  // before the superblock may point to it
    superblock,
    superblock_sync,
    close_sync,
    close_superblock,
    close_superblock_sync,
  };

  Journal(const Superblock& superblock, int slot, CheckpointSource& source, AlignedBuffer batch,
          AlignedBuffer page);
  [[nodiscard]] std::optional<IoRequest> begin(std::uint64_t time_ms);
  [[nodiscard]] std::optional<IoRequest> append_batch(std::uint64_t time_ms);
  void begin_checkpoint();
  [[nodiscard]] std::optional<IoRequest> next_chunk(std::uint64_t time_ms);
  [[nodiscard]] IoRequest write_batch(std::span<const std::byte> records, std::uint32_t count,
                                      std::uint64_t time_ms);
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] bool checkpointing() const;
  [[nodiscard]] IoRequest write_superblock(bool clean);
  void advance();
  void fail();

  Superblock superblock_;  ///< as it is on the device
  Superblock coming_;      ///< as it is being written
  CheckpointSource* source_;
  AlignedBuffer batch_;
  AlignedBuffer page_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> pending_;   ///< encoded records that are not yet in a batch
  std::deque<std::uint32_t> sizes_;  ///< of each of them

  Step step_ = Step::idle;
  bool out_ = false;  ///< the request of this step is at the device
  bool checkpoint_wanted_ = true;
  bool sync_wanted_ = false;
  bool close_wanted_ = false;
  bool broken_ = false;
  bool unsynced_ = false;
  std::int64_t head_ = 0;     ///< within the half that is written to
  int slot_;                  ///< of superblock_
  std::uint64_t sequence_;    ///< of superblocks, the highest one used
  std::uint64_t generation_;  ///< of the journal, likewise
  std::uint64_t batch_sequence_ = 0;
  std::uint32_t batch_records_ = 0;  ///< in the batch that is out
  std::size_t batch_payload_ = 0;    ///< bytes of those records
  std::int64_t batch_bytes_ = 0;     ///< of the whole batch
  Lsn appended_ = 0;
  Lsn dropped_ = 0;  ///< the last record that was dropped
  Lsn written_ = 0;
};

}  // namespace fulcrum
