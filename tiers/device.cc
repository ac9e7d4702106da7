#include "tiers/device.h"

#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/errors.h"

namespace fulcrum {
namespace {

std::string describe(const IoRequest& request) {
  return std::string(request.kind == IoKind::read ? "read" : "write") + " of " +
         std::to_string(request.buffer.size()) + " bytes at offset " + std::to_string(request.offset);
}

/// Why the device cannot take this request, or an empty text.
std::string objection(const IoRequest& request, const Geometry& geometry) {
  const auto alignment = static_cast<std::uintptr_t>(geometry.alignment);
  const auto size = static_cast<std::int64_t>(request.buffer.size());
  if (size <= 0) return "the buffer is empty";
  if (request.offset < 0) return "the offset is negative";
  // Written as a difference: offset + size can overflow.
  if (size > geometry.capacity.value() || request.offset > geometry.capacity.value() - size) {
    return "it ends past the capacity of " + std::to_string(geometry.capacity.value()) + " bytes";
  }
  const auto address = reinterpret_cast<std::uintptr_t>(request.buffer.data());
  const auto offset = static_cast<std::uintptr_t>(request.offset);
  if (((address | offset | request.buffer.size()) & (alignment - 1)) != 0) {
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
    } else {
      ++counters_.writes;
      counters_.write_bytes += bytes;
    }
  }
  return collected;
}

}  // namespace fulcrum
