#include "tiers/device.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/errors.h"

namespace fulcrum {

std::string_view to_string(IoKind kind) {
  switch (kind) {
    case IoKind::read:
      return "read";
    case IoKind::write:
      return "write";
    case IoKind::allocate:
      return "allocate";
    case IoKind::sync:
      return "sync";
  }
  return "";
}

std::int64_t size_of(const IoRequest& request) {
  return request.kind == IoKind::allocate ? request.length : static_cast<std::int64_t>(request.buffer.size());
}

namespace {

std::string describe(const IoRequest& request) {
  return std::string(to_string(request.kind)) + " of " + std::to_string(size_of(request)) +
         " bytes at offset " + std::to_string(request.offset);
}

/// The piece of the device that an offset lies in.
std::int64_t piece_of(std::int64_t offset, const Geometry& geometry) {
  if (offset < geometry.head.value()) return 0;
  return 1 + (offset - geometry.head.value()) / geometry.piece.value();
}

/// Why the device cannot take this request, or an empty text.
std::string objection(const IoRequest& request, const Geometry& geometry) {
  const auto alignment = static_cast<std::uintptr_t>(geometry.alignment);
  const std::int64_t size = size_of(request);
  const bool moves = request.kind == IoKind::read || request.kind == IoKind::write;
  if (size <= 0 && moves) return "the buffer is empty";
  if (size <= 0 && request.kind == IoKind::allocate) return "the length is not positive";
  if (!moves && !request.buffer.empty()) return "only reads and writes have a buffer";
  if (request.offset < 0) return "the offset is negative";
  // Written as a difference: offset + size can overflow.
  if (size > geometry.capacity.value() ||
      request.offset > geometry.capacity.value() - std::max<std::int64_t>(size, 1)) {
    return "it ends past the capacity of " + std::to_string(geometry.capacity.value()) + " bytes";
  }
  if (geometry.piece > Bytes(0) && size > 0 &&
      piece_of(request.offset, geometry) != piece_of(request.offset + size - 1, geometry)) {
    return "it crosses from one file into the next";
  }
  const auto address = reinterpret_cast<std::uintptr_t>(request.buffer.data());
  const auto offset = static_cast<std::uintptr_t>(request.offset);
  if (((address | offset | static_cast<std::uintptr_t>(size)) & (alignment - 1)) != 0) {
    return "offset, size and address must be multiples of " + std::to_string(alignment);
  }
  return {};
}

}  // namespace

Result<void> Device::submit(const IoRequest& request) {
  const Geometry limits = geometry();
  if (std::string why = objection(request, limits); !why.empty()) {
    return bad_input("request", describe(request) + ": " + why, "correct the request");
  }
  if (in_flight_ >= limits.depth_max) {
    Error full = make_error(ErrorKind::busy, "submit", "device",
                            std::to_string(in_flight_) + " requests are in flight, the most allowed",
                            "poll for completions first");
    full.retryable = true;
    return full;
  }
  Result<void> started = do_submit(request);
  if (started.has_error()) {
    ++counters_.errors;
    return started;
  }
  ++in_flight_;
  return {};
}

Result<std::size_t> Device::poll(std::span<IoCompletion> out, Seconds wait) {
  if (in_flight_ == 0 || out.empty()) return std::size_t{0};
  // Also for a wait that is no number.
  Result<std::size_t> collected = do_poll(out, wait > Seconds(0) ? wait : Seconds(0));
  if (collected.has_error()) {
    ++counters_.errors;
    return collected;
  }
  FULCRUM_CHECK(*collected <= in_flight_ && *collected <= out.size(), "completions that nobody asked for");
  in_flight_ -= *collected;
  for (const IoCompletion& completion : out.first(*collected)) {
    const Bytes bytes(static_cast<std::int64_t>(completion.bytes));
    if (completion.result.has_error()) {
      ++counters_.errors;
    } else if (completion.kind == IoKind::read) {
      ++counters_.reads;
      counters_.read_bytes += bytes;
    } else if (completion.kind == IoKind::write) {
      ++counters_.writes;
      counters_.write_bytes += bytes;
    }
  }
  return collected;
}

}  // namespace fulcrum
