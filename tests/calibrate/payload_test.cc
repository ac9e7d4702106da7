#include "calibrate/payload.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/checksum.h"
#include "tiers/aligned_buffer.h"

namespace fulcrum::calibrate {
namespace {

AlignedBuffer filled(Payload& payload, std::size_t size) {
  auto buffer = AlignedBuffer::allocate(size);
  payload.fill(buffer->span());
  return std::move(*buffer);
}

TEST(Payload, VerifiesWhatItStamped) {
  Payload payload(1);
  const AlignedBuffer buffer = filled(payload, 64 << 10);
  payload.stamp(buffer.span(), 1 << 20);
  EXPECT_EQ(payload.wrong_sectors(buffer.span(), 1 << 20), 0);
  EXPECT_EQ(payload.wrong_heads(buffer.span(), 1 << 20, 100), 0);
}

TEST(Payload, NoticesDataOfAnotherPlaceOrAnotherRun) {
  Payload payload(1);
  Payload other(2);
  const AlignedBuffer buffer = filled(payload, 64 << 10);
  payload.stamp(buffer.span(), 0);
  EXPECT_EQ(payload.wrong_sectors(buffer.span(), 4096), 16);
  EXPECT_EQ(payload.wrong_heads(buffer.span(), 4096, 100), 16);
  EXPECT_EQ(payload.wrong_heads(buffer.span(), 4096, 3), 3);
  EXPECT_EQ(other.wrong_sectors(buffer.span(), 0), 16);
}

TEST(Payload, NoticesASingleFlippedBitInABody) {
  Payload payload(1);
  const AlignedBuffer buffer = filled(payload, 64 << 10);
  payload.stamp(buffer.span(), 0);
  buffer.data()[5 * 4096 + 3000] ^= std::byte{1};
  EXPECT_EQ(payload.wrong_sectors(buffer.span(), 0), 1);
}

TEST(Payload, NoTwoSectorsAreEqualEvenFromOneBuffer) {
  Payload payload(1);
  const AlignedBuffer buffer = filled(payload, 16 << 10);
  std::set<std::uint64_t> seen;
  for (std::int64_t offset = 0; offset < 1 << 20; offset += 16 << 10) {
    payload.stamp(buffer.span(), offset);
    for (std::size_t at = 0; at < buffer.size(); at += Payload::kSector)
      seen.insert(hash64(buffer.span().subspan(at, Payload::kSector)));
  }
  EXPECT_EQ(seen.size(), (1U << 20) / Payload::kSector);
}

// A simple compressor's view: how many different bytes a sector uses.
TEST(Payload, BodiesAreIncompressibleUnlessAskedOtherwise) {
  Payload varied(1);
  Payload constant(1, PayloadKind::constant);
  const auto different = [](const AlignedBuffer& buffer) {
    return std::set<std::byte>(buffer.data() + 64, buffer.data() + 4096).size();
  };
  EXPECT_GT(different(filled(varied, 4096)), 250U);
  EXPECT_EQ(different(filled(constant, 4096)), 1U);
}

}  // namespace
}  // namespace fulcrum::calibrate
