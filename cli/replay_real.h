// `fulcrum replay --real`: recorded requests through a real engine, with real bytes, every one of them
// checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fulcrum/engine.h"
#include "replay/trace.h"

namespace fulcrum::cli {

struct RealReplayOptions {
  std::string directory;  ///< each tier of files gets a directory of its own below it
  int workers = 4;        ///< requests served at once
  std::int64_t kv_share =
      0;              ///< rows hold one in so many of the model's bytes; 0: so that a row has at most 2 MiB
  bool keep = false;  ///< leave the tiers' directories behind
};

/// A load that came from one tier of files, beside what was predicted for it.
struct MeasuredLoad {
  Seconds measured{};
  Seconds fast{};     ///< at the optimistic ends of the profile's intervals, alone on the device
  Seconds typical{};  ///< at its values, with the loads that ran beside it
  Seconds slow{};     ///< what the decision was made with
};

struct WrongByte {
  RequestId request = 0;
  BlockKey key;
  std::uint32_t block = 0;
  std::size_t offset = 0;
};

struct RealReport {
  std::int64_t kv_share = 1;
  Bytes row_bytes{};
  std::uint64_t requests = 0;
  std::uint64_t prompt_blocks = 0;
  std::uint64_t loaded_blocks = 0;
  std::uint64_t stored_blocks = 0;
  std::uint64_t refused_stores = 0;
  std::vector<Seconds> ttft;            ///< by request: load, then the stand-in for prefill
  std::vector<Seconds> ttft_recompute;  ///< of the same requests without any load, without queueing
  std::vector<MeasuredLoad> loads;
  std::optional<WrongByte> wrong;
  bool closed_clean = false;
  Seconds elapsed{};
  EngineStatus status;
};

/// Arrivals of `trace` are taken as they are; the stand-in for prefill is divided by `speed`. Kinds: those of
/// Engine::open; interrupted.
Result<RealReport> replay_real(const replay::Trace& trace, const MachineProfile& profile, PolicyConfig policy,
                               double speed, const RealReplayOptions& options);

[[nodiscard]] std::string real_json(const RealReport& report);
void print_real(std::ostream& out, const RealReport& report);

}  // namespace fulcrum::cli
