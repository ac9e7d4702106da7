// A small blind mutator, for machines without libFuzzer: every quick run looks a little beyond the seeds.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/random.h"
#include "tests/fuzz/input.h"

namespace fulcrum::fuzz {

/// `bits` with one to four changes; `other` lends a piece now and then.
inline Bits mutated(Bits bits, const Bits& other, Random& random) {
  constexpr std::array<std::string_view, 8> kNasty{"-1",  "0",    "1e308", "18446744073709551615",
                                                   "nan", "\"\"", "[]",    "9223372036854775807"};
  for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    const auto at = [&](const Bits& in) { return static_cast<std::ptrdiff_t>(random.below(in.size() + 1)); };
    const std::ptrdiff_t place = at(bits);
    const auto here = bits.begin() + place;
    const std::ptrdiff_t rest = bits.end() - here;
    const std::ptrdiff_t some = std::min<std::ptrdiff_t>(rest, static_cast<std::ptrdiff_t>(random.below(16)));
    switch (random.below(6)) {
      case 0:
        if (rest > 0) *here ^= static_cast<std::byte>(1U << random.below(8));
        break;
      case 1:
        if (rest > 0)
          *here = static_cast<std::byte>(std::array{0, 1, 0x7f, 0x80, 0xff, 0x0a}[random.below(6)]);
        break;
      case 2:
        bits.erase(here, here + some);
        break;
      case 3: {
        const Bits piece(here, here + some);
        bits.insert(bits.begin() + at(bits), piece.begin(), piece.end());
        break;
      }
      case 4: {
        const auto from = other.begin() + at(other);
        bits.insert(here, from, from + std::min<std::ptrdiff_t>(other.end() - from, 64));
        break;
      }
      default: {
        const auto word = std::as_bytes(std::span(kNasty[random.below(kNasty.size())]));
        bits.erase(here, here + some);
        bits.insert(bits.begin() + place, word.begin(), word.end());
      }
    }
  }
  return bits;
}

}  // namespace fulcrum::fuzz
