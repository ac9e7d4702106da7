// FileUpkeep: what a file tier does on its own account. Internal to tiers/file_*.
//
//  - carries the journal's requests to the device; on turning disks, where that moves the head twice, records
//    wait until there are `commit` bytes behind them, or for some seconds;
//  - takes space for segments before it is needed, and tries again later where there is none;
//  - makes written segments and the journal durable about once a second, on turning disks twice a minute;
//    what a power loss forgets is little;
//  - writes down worth and write history every `checkpoint_age`;
//  - probes a tier that is not healthy: a page is written and read back, what was refused is tried again;
//  - notices when its files are removed under it: nothing would be left of what is written.
#pragma once

#include <cstdint>
#include <optional>

#include "tiers/aligned_buffer.h"
#include "tiers/file_history.h"
#include "tiers/file_tier_core.h"

namespace fulcrum {

class FileUpkeep final : public IoClient {
 public:
  /// Kinds: no_memory.
  static Result<AlignedBuffer> probe_page();
  FileUpkeep(FileTierCore& core, AlignedBuffer page);

  void step();
  /// The next time that step() has something to do by itself.
  [[nodiscard]] Seconds due_at() const;
  [[nodiscard]] FileHistory& history() { return history_; }

  void on_piece(const IoPiece& piece, const Result<void>& result) override;

 private:
  enum class Task : std::uint64_t { journal, growth, segment_sync, probe_write, probe_read };

  /// How many pieces it went out in.
  std::uint32_t push(Task task, IoKind kind, std::int64_t offset, std::span<std::byte> buffer = {},
                     std::int64_t length = 0);
  void on_journal(const Result<void>& result);
  void pump_journal();
  /// The head of a turning disk stays where it is.
  [[nodiscard]] bool journal_waits();
  void grow();
  void take_space(std::uint32_t segment);
  void on_grown(const Result<void>& result);
  void sync_when_due();
  void probe_when_due();
  void on_probed(const Result<void>& result);
  [[nodiscard]] bool probes_growth() const;
  void look_for_files();

  FileTierCore& core_;
  AlignedBuffer page_;
  std::uint64_t nonce_ = 0;
  Seconds sync_at_;
  Seconds write_down_at_;
  std::uint32_t syncs_out_ = 0;
  std::uint32_t journal_out_ = 0;    ///< pieces of the journal's request
  Result<void> journal_result_;      ///< of those that came back: the first failure
  Lsn visit_ = 0;                    ///< records up to this one are written now
  std::optional<Seconds> held_;      ///< records wait since then
  std::int64_t told_committed_ = 0;  ///< core_.committed when the head last went there
  Seconds grow_at_{};                ///< not before
  Seconds grow_backoff_{};
  bool probing_ = false;
  Seconds look_at_;
  std::uint64_t looks_ = 0;
  std::optional<Error> removed_;   ///< files, for the life of this process
  bool probe_checkpoint_ = false;  ///< the probe ends with a checkpoint
  FileHistory history_;
};

}  // namespace fulcrum
