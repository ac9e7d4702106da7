// Identity of KV blocks: Namespace says whose bytes they are, BlockKey which prefix they hold.
//
// A BlockKey is chained: it is made from the key before it and this block's content, so equal keys mean
// equal whole prefixes, and two namespaces never share a key. Keys need no seed: every process on every
// host computes the same ones.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fulcrum {

/// Everything that makes KV bytes usable or not: another value anywhere means other bytes.
struct Namespace {
  std::string model{};   ///< name and weights revision
  std::string layout{};  ///< KV layout, quantisation, RoPE settings
  std::string dtype{};   ///< element type of the stored KV
  int ranks = 1;         ///< tensor-parallel ranks whose bytes one row holds
  std::string salt{};    ///< tenant salt; empty where tenants share

  /// 64-bit fingerprint of all fields. Thread-safe, deterministic, the same on every host.
  [[nodiscard]] std::uint64_t fingerprint() const;
};

/// 128-bit identity of one block and of the whole prefix that ends with it.
struct BlockKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a pointer in the comparison with 0 behind it
  auto operator<=>(const BlockKey&) const = default;

  /// The key before the first block of a chain in a namespace.
  static BlockKey root(const Namespace& name);
  /// The key of the block of `tokens` that follows `parent`.
  static BlockKey next(BlockKey parent, std::span<const std::int32_t> tokens);
  /// The key of a block that the host already identifies by `host_hash` (any bytes), behind `parent`.
  static BlockKey from_host_hash(BlockKey parent, std::span<const std::byte> host_hash);
};

}  // namespace fulcrum
