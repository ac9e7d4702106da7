#include "calibrate/payload.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/checksum.h"

namespace fulcrum::calibrate {
namespace {

struct Head {
  std::uint64_t seed;
  std::int64_t offset;
  std::uint64_t body_hash;
};

Head head_of(std::span<const std::byte> sector) {
  Head head{};
  std::memcpy(&head, sector.data(), sizeof head);
  return head;
}

}  // namespace

Payload::Payload(std::uint64_t seed, PayloadKind kind)
    : seed_(seed), kind_(kind), random_(Random(seed).split("payload")) {}

void Payload::fill(std::span<std::byte> buffer) {
  FULCRUM_CHECK(buffer.size() % kSector == 0, "payloads are whole sectors");
  for (; !buffer.empty(); buffer = buffer.subspan(kSector)) {
    const auto body = buffer.subspan(sizeof(Head), kSector - sizeof(Head));
    if (kind_ == PayloadKind::incompressible) {
      random_.fill(body);
    } else {
      std::memset(body.data(), 0, body.size());
    }
    const Head head{seed_, -1, hash64(body)};
    std::memcpy(buffer.data(), &head, sizeof head);
  }
}

void Payload::stamp(std::span<std::byte> buffer, std::int64_t offset) const {
  for (std::size_t at = 0; at < buffer.size(); at += kSector) {
    Head head = head_of(buffer.subspan(at));
    head.seed = seed_;
    head.offset = offset + static_cast<std::int64_t>(at);
    std::memcpy(buffer.data() + at, &head, sizeof head);
  }
}

std::int64_t Payload::wrong_heads(std::span<const std::byte> buffer, std::int64_t offset, std::size_t some) {
  const std::size_t sectors = buffer.size() / kSector;
  std::int64_t wrong = 0;
  const auto check = [&](std::size_t sector) {
    const Head head = head_of(buffer.subspan(sector * kSector));
    if (head.seed != seed_ || head.offset != offset + static_cast<std::int64_t>(sector * kSector)) ++wrong;
  };
  if (some >= sectors) {
    for (std::size_t i = 0; i < sectors; ++i) check(i);
  } else {
    for (std::size_t i = 0; i < some; ++i) check(random_.below(sectors));
  }
  return wrong;
}

std::int64_t Payload::wrong_sectors(std::span<const std::byte> buffer, std::int64_t offset) const {
  std::int64_t wrong = 0;
  for (std::size_t at = 0; at < buffer.size(); at += kSector) {
    const auto sector = buffer.subspan(at, kSector);
    const Head head = head_of(sector);
    const bool mine = head.seed == seed_ && head.offset == offset + static_cast<std::int64_t>(at);
    if (!mine || hash64(sector.subspan(sizeof(Head))) != head.body_hash) ++wrong;
  }
  return wrong;
}

}  // namespace fulcrum::calibrate
