#include "fulcrum/key.h"

#include <array>
#include <bit>
#include <string_view>

#include "base/checksum.h"

namespace fulcrum {
namespace {

// Keys travel between hosts and rest on disk as raw bytes.
static_assert(std::endian::native == std::endian::little, "block keys are defined on little-endian bytes");

/// What follows the parent in a chain: kinds never share a key.
enum class Link : std::uint64_t { root = 1, tokens = 2, host_hash = 3 };

void append(std::string& out, std::string_view text) {
  const std::uint64_t size = text.size();  // a length before each field: ("ab", "c") is not ("a", "bc")
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out.append(text);
}

std::string canonical(const Namespace& name) {
  std::string out;
  append(out, name.model);
  append(out, name.layout);
  append(out, name.dtype);
  append(out, std::to_string(name.ranks));
  append(out, name.salt);
  return out;
}

BlockKey chain(BlockKey parent, Link link, std::span<const std::byte> content) {
  const Hash128 own = hash128(content);
  const std::array<std::uint64_t, 5> joined{parent.high, parent.low, own.high, own.low,
                                            static_cast<std::uint64_t>(link)};
  const Hash128 key = hash128(std::as_bytes(std::span(joined)));
  return {key.high, key.low};
}

}  // namespace

std::uint64_t Namespace::fingerprint() const {
  return hash64(canonical(*this));
}

BlockKey BlockKey::root(const Namespace& name) {
  const std::string text = canonical(name);
  return chain({}, Link::root, std::as_bytes(std::span(text)));
}

BlockKey BlockKey::next(BlockKey parent, std::span<const std::int32_t> tokens) {
  return chain(parent, Link::tokens, std::as_bytes(tokens));
}

BlockKey BlockKey::from_host_hash(BlockKey parent, std::span<const std::byte> host_hash) {
  return chain(parent, Link::host_hash, host_hash);
}

}  // namespace fulcrum
