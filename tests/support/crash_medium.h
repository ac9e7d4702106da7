// CrashMedium: bytes of a device as reads see them, and as a crash may leave them.
//
// A write is a row of sectors of 512 bytes. From its submission until a sync has covered it, a crash may keep
// any subset of them. Events are numbered by the device, so that a sync covers just the writes that had
// ended when it was submitted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tiers/device.h"

namespace fulcrum::test {

/// All bytes of a device.
using Image = std::vector<std::byte>;

/// A sector of a write that no sync has covered.
struct SectorWrite {
  static constexpr std::size_t kSize = 512;
  std::int64_t offset = 0;
  std::array<std::byte, kSize> bytes{};
  std::uint64_t request = 0;  ///< number of its write in the order of submission, from 1
};

class CrashMedium {
 public:
  CrashMedium(Bytes capacity, Image image) : live_(std::move(image)) {
    live_.resize(static_cast<std::size_t>(capacity.value()));
    durable_ = live_;
  }

  /// A write was submitted: a crash may keep any of its sectors from now on.
  void submit(std::uint64_t request, std::int64_t offset, std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += SectorWrite::kSize) {
      Pending pending;
      pending.sector.offset = offset + static_cast<std::int64_t>(at);
      std::memcpy(pending.sector.bytes.data(), bytes.data() + at, SectorWrite::kSize);
      pending.sector.request = request;
      pending_.push_back(pending);
    }
  }
  /// It ended with this event; reads see what it wrote before offset `until`.
  void land(std::uint64_t request, std::int64_t until, std::uint64_t event) {
    for (Pending& pending : pending_) {
      if (pending.sector.request != request) continue;
      pending.ended = event;
      pending.landed = pending.sector.offset < until;
      if (pending.landed) put(live_, pending.sector);
    }
  }
  /// A sync of the file for whose offsets `concerns` holds, submitted with this event, has ended well...
  void cover(std::uint64_t event, const std::function<bool(std::int64_t)>& concerns) {
    std::erase_if(pending_, [&](const Pending& pending) {
      const bool covered = pending.before(event) && !pending.forsaken && concerns(pending.sector.offset);
      if (covered && pending.landed) put(durable_, pending.sector);
      return covered;
    });
  }
  /// ... or failed: no later one covers what it should have covered.
  void forsake(std::uint64_t event, const std::function<bool(std::int64_t)>& concerns) {
    for (Pending& pending : pending_) {
      if (pending.before(event) && concerns(pending.sector.offset)) pending.forsaken = true;
    }
  }

  [[nodiscard]] std::vector<SectorWrite> pending() const {
    std::vector<SectorWrite> out;
    for (const Pending& pending : pending_) out.push_back(pending.sector);
    return out;
  }
  [[nodiscard]] Image crash(const std::function<bool(std::size_t, const SectorWrite&)>& keeps) const {
    Image image = durable_;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (keeps(i, pending_[i].sector)) put(image, pending_[i].sector);
    }
    return image;
  }
  void change(const std::function<void(Image&)>& edit) {
    edit(live_);
    edit(durable_);
  }
  [[nodiscard]] const Image& live() const { return live_; }

 private:
  struct Pending {
    SectorWrite sector;
    std::uint64_t ended = 0;  ///< event of its end; 0: in flight
    bool landed = false;      ///< reads see it
    bool forsaken = false;    ///< a sync that should have covered it failed
    [[nodiscard]] bool before(std::uint64_t event) const { return ended != 0 && ended < event; }
  };
  static void put(Image& image, const SectorWrite& sector) {
    std::memcpy(image.data() + sector.offset, sector.bytes.data(), SectorWrite::kSize);
  }

  Image live_;     ///< what reads see
  Image durable_;  ///< what every crash leaves
  std::vector<Pending> pending_;
};

}  // namespace fulcrum::test
