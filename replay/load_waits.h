// LoadWaits: which requests wait for which blocks.
//
// A block that is read for one request serves every request that waits for it. A wait ends when all its
// blocks have arrived, or when one of them is lost (its read failed or was cancelled); what counts then is
// the leading run that arrived.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "fulcrum/key.h"
#include "replay/key_hash.h"

namespace fulcrum::replay {

class LoadWaits {
 public:
  /// Starts the wait of a request for `keys`. A request waits once at a time.
  void expect(std::uint32_t request, std::span<const BlockKey> keys);
  /// keys[0, arrived) are here, the others will not come by this read. Returns the waits that end.
  std::vector<std::uint32_t> deliver(std::span<const BlockKey> keys, std::size_t arrived);
  /// As deliver, for one request only and without ending its wait: blocks of a read still in flight.
  void credit(std::uint32_t request, std::span<const BlockKey> keys);
  /// Ends a wait; returns the length of its leading run that arrived.
  std::size_t finish(std::uint32_t request);
  [[nodiscard]] bool waits(std::uint32_t request) const { return waits_.contains(request); }
  /// Does anyone wait for one of these blocks?
  [[nodiscard]] bool wanted(std::span<const BlockKey> keys) const;
  [[nodiscard]] std::size_t size() const { return waits_.size(); }

 private:
  struct Wait {
    std::vector<BlockKey> keys;
    std::vector<bool> arrived;
    std::size_t missing = 0;
  };
  struct Waiter {
    std::uint32_t request = 0;
    std::uint32_t block = 0;
  };
  using Waiters = std::unordered_map<BlockKey, std::vector<Waiter>, KeyHash>;

  static void mark(Wait& wait, std::uint32_t block);

  std::unordered_map<std::uint32_t, Wait> waits_;
  Waiters waiters_;
};

}  // namespace fulcrum::replay
