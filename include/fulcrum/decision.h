// The plain data that goes into the decider and comes out of it.
//
// Nothing here owns a resource; all of it can be logged, sent to another process and replayed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fulcrum/key.h"
#include "fulcrum/units.h"

namespace fulcrum {

using RequestId = std::uint64_t;
using OrderId = std::uint64_t;
/// Index into PolicyConfig::tiers. `kGpu` is the host's own cache, `kNowhere` means recompute or drop.
using TierId = std::int8_t;
inline constexpr TierId kGpu = -1;
inline constexpr TierId kNowhere = -2;
inline constexpr int kMaxTiers = 6;

/// One prompt that asks for its prefix. `blocks` must outlive the call only.
struct Request {
  RequestId id = 0;
  Tokens prompt{};                   ///< all tokens of the prompt
  Tokens resident{};                 ///< leading tokens that the host's GPU cache already holds
  std::span<const BlockKey> blocks;  ///< keys of the prompt's whole blocks, front to back
  Seconds lead{};                    ///< time before the GPU could start on it anyway
  double gpu_load = 0;               ///< utilisation of the prefill budget, 0..1
  std::uint32_t session = 0;         ///< class for reuse statistics; 0: unknown
};

/// Consecutive blocks of the chain that are read from one tier.
struct Run {
  TierId tier = kNowhere;
  std::uint32_t first = 0;  ///< block index in the chain
  std::uint32_t count = 0;
  OrderId order = 0;  ///< brings the run; may be another request's, which is then shared. A preload brings it
                      ///< to the first tier, from where the host copies it on. 0: none issued (Decider::plan)
};

/// One way to serve the request: load blocks up to `load_end` tokens, compute the rest.
struct Alternative {
  Tokens load_end{};       ///< = resident for "recompute all"
  Seconds load{};          ///< predicted load time at the policy's load quantile, lead not deducted
  Seconds saved{};         ///< recomputation avoided, at the policy's compute quantile
  Seconds ttft{};          ///< predicted time to first token, medians, without queueing
  TierId tier = kNowhere;  ///< holds the blocks that this loads beyond the alternative before it

  /// Part of the load that the GPU would wait for.
  [[nodiscard]] Seconds exposed(Seconds lead) const { return load > lead ? load - lead : Seconds(0); }
};

enum class Choice : std::uint8_t {
  recompute,  ///< nothing found is worth its load time
  load,       ///< load up to Plan::load_end, compute the rest
  resident,   ///< the GPU already holds all that is known
  miss,       ///< nothing known beyond what the GPU holds
};
[[nodiscard]] std::string_view to_string(Choice choice);

/// The two sides that were compared, so that a decision can be printed and replayed. Where nothing is worth
/// its load, they are those of the alternative that came nearest.
struct Reason {
  Choice choice = Choice::miss;
  std::uint8_t chosen = 0;  ///< index into Plan::alternatives
  Seconds saved{};          ///< left side: recomputation avoided, times gpu_price
  Seconds paid{};           ///< right side: exposed load plus margin
  Seconds lead{};
  double gpu_price = 1;  ///< priced seconds for a second of GPU time
};

inline constexpr std::size_t kMaxRuns = 8;

/// The answer to a Request. Fixed size: planning allocates nothing.
struct Plan {
  RequestId request = 0;
  Tokens resident{};  ///< from the GPU
  Tokens load_end{};  ///< load [resident, load_end)
  Tokens prompt{};    ///< compute [load_end, prompt)
  std::array<Run, kMaxRuns> runs{};
  std::uint8_t run_count = 0;
  std::array<Alternative, kMaxRuns + 2> alternatives{};
  std::uint8_t alternative_count = 0;
  Reason reason;
  Seconds
      stop_loss{};  ///< give the load up this long after the decision and compute instead; may be infinite

  [[nodiscard]] Tokens to_load() const { return load_end - resident; }
  [[nodiscard]] Tokens to_compute() const { return prompt - load_end; }
};

enum class OrderKind : std::uint8_t { load, preload, write, demote, erase, cancel };
[[nodiscard]] std::string_view to_string(OrderKind kind);

/// Something for a mover to do. `keys` are consecutive blocks of one chain, front to back.
struct Order {
  OrderId id = 0;
  OrderKind kind = OrderKind::load;
  TierId source = kNowhere;
  TierId target = kNowhere;
  RequestId request = 0;  ///< 0 where no request waits for it
  Bytes bytes{};
  std::vector<BlockKey> keys;
  BlockKey parent{};        ///< key of the block before keys[0]; zero where first is 0
  std::uint32_t first = 0;  ///< position of keys[0] in its chain, in blocks
  double worth = 0;         ///< of the last block where it goes, for tiers that evict on their own (log2)
};

enum class OutcomeKind : std::uint8_t { done, partial, failed, cancelled };

/// What became of an order.
struct Outcome {
  OrderId order = 0;
  OutcomeKind kind = OutcomeKind::done;
  std::uint32_t blocks_done = 0;  ///< leading blocks that arrived, for partial
  Seconds elapsed{};
};

}  // namespace fulcrum
