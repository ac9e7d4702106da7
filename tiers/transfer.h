// Transfer: one request on its way through an engine, until all of its bytes have moved or it failed.
//
// Both engines feed it what the system answered and do what it says next, so that short transfers,
// interruptions and the end of a truncated file are treated the same everywhere. Plain data, no system call.
//
// Allocations and syncs move no bytes: any answer but an error is their end.
//
//        +-- again: short, interrupted, no resources (bounded) --+
//        v                                                       |
//   [in flight] ----------------- advance(answer) ---------------+----> finished: all bytes, or an error
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tiers/device.h"

namespace fulcrum {

class FileSet;

class Transfer {
 public:
  enum class Next { again, finished };
  /// Answers without progress in a row before the request fails.
  static constexpr int kFruitlessMax = 64;

  Transfer() = default;
  /// `step`: what a short transfer may be cut to (the alignment in direct mode, 1 otherwise).
  Transfer(const IoRequest& request, std::size_t step, Seconds submitted)
      : request_(request), step_(step), submitted_(submitted) {}

  /// Takes one answer of the system: bytes moved, or a negative errno.
  Next advance(std::int64_t answer);

  [[nodiscard]] IoKind kind() const { return request_.kind; }
  [[nodiscard]] std::span<std::byte> rest() const { return request_.buffer.subspan(done_); }
  /// Of an allocation.
  [[nodiscard]] std::int64_t length() const { return request_.length; }
  [[nodiscard]] std::int64_t rest_offset() const {
    return request_.offset + static_cast<std::int64_t>(done_);
  }
  /// How many answers in a row brought no progress: what an engine may base its patience on.
  [[nodiscard]] int fruitless() const { return fruitless_; }
  /// How often a short transfer was continued.
  [[nodiscard]] std::uint64_t resumed() const { return resumed_; }
  [[nodiscard]] IoCompletion completion(Seconds now, const FileSet& files) const;

 private:
  enum class Failure { none, system, stopped_short };

  Next fail(Failure failure, int code = 0);
  [[nodiscard]] bool moves_bytes() const {
    return request_.kind == IoKind::read || request_.kind == IoKind::write;
  }

  IoRequest request_;
  std::size_t step_ = 1;
  Seconds submitted_{};
  std::size_t done_ = 0;
  int fruitless_ = 0;
  std::uint64_t resumed_ = 0;
  Failure failure_ = Failure::none;
  int code_ = 0;
};

}  // namespace fulcrum
