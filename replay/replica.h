// Replica: the queue, the GPU and the prefix cache of one serving engine. State only; the simulation acts.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "fulcrum/units.h"
#include "replay/gpu_cache.h"

namespace fulcrum::replay {

/// Share of recent time that something was busy: an exponential window.
class Utilisation {
 public:
  static constexpr Seconds kWindow{30};

  void set(bool busy, Seconds now);
  [[nodiscard]] double value(Seconds now) const;

 private:
  bool busy_ = false;
  double level_ = 0;
  Seconds since_{};
};

struct Replica {
  explicit Replica(std::size_t cache_blocks) : cache(cache_blocks) {}

  GpuCache cache;
  std::deque<std::uint32_t> waiting;  ///< not yet planned, first come first served
  std::set<std::uint32_t> ready;      ///< loads have arrived, waits for the GPU
  int loading = 0;
  bool busy = false;
  std::uint32_t running = 0;  ///< request, while busy
  Seconds free_at{};          ///< end of the prefill that runs
  Seconds queued{};           ///< expected prefill of all that wait, loads not counted
  Utilisation utilisation;

  /// Time before the GPU could start on a request that arrives now.
  [[nodiscard]] Seconds backlog(Seconds now) const {
    const Seconds left = busy && free_at > now ? free_at - now : Seconds(0);
    return left + queued;
  }
};

}  // namespace fulcrum::replay
