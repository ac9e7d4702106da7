// Quantities as text: "64 GiB", "20 ms", "2.5 GB/s". Locale-independent; the inverse of format().
//
// Sizes take KiB MiB GiB TiB PiB (1024) and kB KB MB GB TB PB (1000); times take ns us ms s min h d;
// rates are a size and "/s". A space between number and unit is optional. Nothing else is accepted: no
// bare number, no hexadecimal, no octal look-alike, no infinity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fulcrum/units.h"

namespace fulcrum {

/// A number as a document may hold it: all of the text, finite, decimal.
[[nodiscard]] std::optional<double> scalar_number(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> scalar_integer(std::string_view text);
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] std::optional<Seconds> parse_seconds(std::string_view text);
[[nodiscard]] std::optional<BytesPerSecond> parse_rate(std::string_view text);

/// Text that reads back to the very same quantity, in the largest unit that allows it.
[[nodiscard]] std::string format_exact(Bytes bytes);
[[nodiscard]] std::string format_exact(Seconds time);
[[nodiscard]] std::string format_exact(BytesPerSecond rate);

}  // namespace fulcrum
