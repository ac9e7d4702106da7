// Payload: what the probe writes, and how it knows that it read it back.
//
// Data is made of sectors of 4 KiB. A sector's head holds the seed, its own offset and the hash of its body;
// the body is random. So no two sectors are equal (nothing to deduplicate), none compresses, and any sector
// can be checked alone. Bodies are made once for each buffer; stamping a buffer for another offset touches
// one cache line a sector, so that making data never limits a write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random.h"

namespace fulcrum::calibrate {

enum class PayloadKind {
  incompressible,
  constant,  ///< bodies of zeros: what a careless tool writes; exists to show what it would measure
};

class Payload {
 public:
  static constexpr std::size_t kSector = 4096;

  explicit Payload(std::uint64_t seed, PayloadKind kind = PayloadKind::incompressible);

  /// Makes bodies. `buffer` is whole sectors, 8-byte aligned.
  void fill(std::span<std::byte> buffer);
  /// Makes a filled buffer the data of `offset`.
  void stamp(std::span<std::byte> buffer, std::int64_t offset) const;
  /// Sectors whose head is not that of `offset`: all of them, or about `some` of them chosen at random.
  [[nodiscard]] std::int64_t wrong_heads(std::span<const std::byte> buffer, std::int64_t offset,
                                         std::size_t some);
  /// Sectors with a wrong head or a body that does not match it.
  [[nodiscard]] std::int64_t wrong_sectors(std::span<const std::byte> buffer, std::int64_t offset) const;

 private:
  std::uint64_t seed_;
  PayloadKind kind_;
  Random random_;
};

}  // namespace fulcrum::calibrate
