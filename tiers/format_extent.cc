#include <algorithm>
#include <array>

#include "base/checksum.h"
#include "base/errors.h"
#include "tiers/byte_codec.h"
#include "tiers/format.h"
#include "tiers/format_page.h"

namespace fulcrum {
namespace {

constexpr std::uint32_t kMagic = 0x31545846;  // "FXT1"

Error damaged(std::string detail) {
  return make_error(ErrorKind::corrupt, "read", "extent header", std::move(detail));
}

}  // namespace

void encode_extent_header(const ExtentFacts& facts, std::uint64_t fingerprint, std::span<std::byte> page) {
  std::fill(page.begin(), page.end(), std::byte{0});
  ByteWriter out(page);
  out.put<std::uint32_t>(kMagic);
  out.put<std::uint32_t>(static_cast<std::uint32_t>(facts.blocks.size()));
  out.put<std::uint64_t>(0);  // the checksum
  out.put<std::uint64_t>(fingerprint);
  out.put<std::uint32_t>(facts.segment);
  out.put<std::uint32_t>(facts.generation);
  out.put<std::uint32_t>(facts.page);
  out.put<std::uint32_t>(facts.first);
  out.put<std::uint64_t>(facts.parent.high);
  out.put<std::uint64_t>(facts.parent.low);
  out.put<std::uint64_t>(facts.used_ms);
  for (const StoredBlock& block : facts.blocks) {
    out.put<std::uint64_t>(block.key.high);
    out.put<std::uint64_t>(block.key.low);
    out.put<std::uint64_t>(block.sum);
    out.put<float>(block.worth);
  }
  seal_page(page);
}

Result<ExtentFacts> decode_extent_header(std::span<const std::byte> page, std::uint64_t fingerprint) {
  if (page.size() < kPage) return damaged("it is shorter than a page");
  page = page.first(kPage);
  if (is_zero(page)) return make_error(ErrorKind::not_found, "read", "extent header", "there is none");
  ByteReader in(page);
  if (in.get<std::uint32_t>() != kMagic) return damaged("it does not begin with its magic");
  const auto count = in.get<std::uint32_t>();
  if (count == 0 || count > kExtentBlocks) return damaged("it claims " + std::to_string(count) + " blocks");
  if (in.get<std::uint64_t>() != page_sum(page)) return damaged("its checksum is wrong");
  if (in.get<std::uint64_t>() != fingerprint) {
    return make_error(ErrorKind::mismatch, "read", "extent header", "it belongs to another namespace");
  }
  ExtentFacts facts;
  facts.segment = in.get<std::uint32_t>();
  facts.generation = in.get<std::uint32_t>();
  facts.page = in.get<std::uint32_t>();
  facts.first = in.get<std::uint32_t>();
  facts.parent.high = in.get<std::uint64_t>();
  facts.parent.low = in.get<std::uint64_t>();
  facts.used_ms = in.get<std::uint64_t>();
  facts.blocks.resize(count);
  for (StoredBlock& block : facts.blocks) {
    block.key.high = in.get<std::uint64_t>();
    block.key.low = in.get<std::uint64_t>();
    block.sum = in.get<std::uint64_t>();
    block.worth = in.get<float>();
  }
  if (!in.ok()) return damaged("its blocks run over its end");
  return facts;
}

bool is_extent_header(std::span<const std::byte> page) {
  const Result<ExtentFacts> any = decode_extent_header(page, 0);
  return any.has_value() || any.error().kind == ErrorKind::mismatch;
}

std::uint64_t row_sum(std::span<const std::byte> row, const BlockKey& key, std::uint32_t segment,
                      std::uint32_t page, std::uint32_t generation) {
  const std::array<std::uint64_t, 4> place{key.high, key.low, (std::uint64_t{segment} << 32) | page,
                                           generation};
  return hash64(row, hash64(std::as_bytes(std::span(place))));
}

}  // namespace fulcrum
